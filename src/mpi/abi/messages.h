// Exchanges over MPI messages, on a private communicator.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "carrier/point_to_point.h"
#include "job/ops.h"
#include "messages/io/mpi_p2p.h"

namespace alm::mpi {

// The objects that MPI refers to while messages are under way.
struct MessagesInFlight {
  MessagesInFlight(const messages::MpiApi& mpi, MPI_Comm private_comm, std::uint32_t ranks,
                   const messages::P2pOptions& options)
      : api(mpi), comm(private_comm), engine(mpi, private_comm, ranks, options) {}
  ~MessagesInFlight() { api.Comm_free(&comm); }
  MessagesInFlight(const MessagesInFlight&) = delete;
  MessagesInFlight& operator=(const MessagesInFlight&) = delete;

  const messages::MpiApi& api;
  MPI_Comm comm;
  messages::MpiP2p engine;
  std::vector<std::shared_ptr<const void>> kept;
};

// Messages that a failed exchange could not end, for instance because their receiver does not come.
// They and their memory stay here until MPI is done with them, or until the process ends.
class UnendedMessages {
 public:
  void add(std::unique_ptr<MessagesInFlight> messages);
  // Frees those that have ended since. Any thread.
  void sweep();
  bool empty() const { return count_.load() == 0; }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<MessagesInFlight>> all_;
  std::atomic<std::size_t> count_{0};
};

class Messages final : public carrier::PointToPoint {
 public:
  // `comm` is freed in the end. `api` and `unended` outlive this.
  Messages(const messages::MpiApi& api, UnendedMessages& unended, MPI_Comm comm,
           std::uint32_t ranks, std::uint32_t self, job::RankName name,
           const messages::P2pOptions& options);
  ~Messages() override;
  Messages(const Messages&) = delete;
  Messages& operator=(const Messages&) = delete;

  base::Status start(std::size_t strand, const transport::Exchange& exchange,
                     const messages::MessageFlow& flow) override;
  void make_ready(std::size_t strand, base::PeerId peer) override;
  base::Result<Event> await(std::span<const std::size_t> strands) override;
  void give_up() override;
  bool ended() override;
  void keep(std::shared_ptr<const void> memory) override;
  std::uint64_t messages_sent() const override;

 private:
  base::Error error_of(int code) const;

  UnendedMessages& unended_;
  std::uint32_t self_;
  job::RankName name_;
  std::unique_ptr<MessagesInFlight> flight_;
};

}  // namespace alm::mpi

// Persistent requests that a thread of ours carries out, as requests of the MPI library
// (job/ops.h).
//
// The program gets a request made by MPI_Ssend_init: an empty synchronous message of this rank to
// itself. Whoever starts it, by whatever function, sends a message that the thread finds; when the
// exchange is over, the thread receives the message, and with that the library completes the
// request, for whichever function waits. What is seen of MPI_Start and MPI_Wait is for speed; what
// is not seen costs time alone. A send cannot show an error: that is added by the functions that
// find the request complete.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "job/ops.h"
#include "messages/io/mpi_api.h"
#include "mpi/abi/sleepers.h"

namespace alm::mpi {

class PersistentRequests;

class SelfSend final : public job::PersistentRequest {
 public:
  SelfSend(PersistentRequests& all, int tag, job::CommHandle comm,
           std::shared_ptr<const job::CommLife> life, std::function<void()> on_start)
      : all_(all), tag_(tag), comm_(comm), life_(std::move(life)), on_start_(std::move(on_start)) {}

  job::RequestHandle handle() const override { return handle_; }
  bool started() override;
  bool announced() const override { return announced_.load(); }
  void not_found() override;
  void complete(job::Outcome outcome) override;
  bool freed() const override { return freed_.load(); }
  void drop() override;

  // Around the library's MPI_Start.
  void announce();
  void take_back() { not_found(); }
  void seen() const { on_start_(); }

  // The failure of an exchange, until it is raised. Returns the MPI error code; MPI_SUCCESS: there
  // is none.
  int raise_failure();
  // A collective cannot be cancelled (MPI 4.1 section 6.12). Returns the MPI error code.
  int refuse_to_cancel();

 private:
  friend class PersistentRequests;

  PersistentRequests& all_;
  int tag_;
  job::CommHandle comm_;
  std::shared_ptr<const job::CommLife> life_;
  std::function<void()> on_start_;
  job::RequestHandle handle_ = 0;
  std::atomic<bool> announced_ = false, freed_ = false;
  std::mutex mutex_;  // guards what follows
  std::shared_ptr<Sleepers::Pending> pending_;
  job::Outcome failure_;
};

// Those of the process, by handle.
class PersistentRequests {
 public:
  // `comm`: of this rank alone, where tags from 1 on are free.
  PersistentRequests(const messages::MpiApi& api, job::MpiOps& ops, Sleepers& sleepers,
                     const MPI_Comm& comm)
      : api_(api), ops_(ops), sleepers_(sleepers), comm_(comm) {}

  base::Result<std::shared_ptr<job::PersistentRequest>> make(
      job::CommHandle comm, std::shared_ptr<const job::CommLife> life,
      std::function<void()> on_start);

  // Those among the requests. They live as long as the program has not freed them.
  std::vector<std::shared_ptr<SelfSend>> among(std::span<const MPI_Request> requests) const;
  std::shared_ptr<SelfSend> find(MPI_Request request) const;
  Sleepers& sleepers() { return sleepers_; }
  bool any() const { return count_.load(std::memory_order_relaxed) != 0; }
  // Whether a failure waits to be raised.
  bool failed() const { return failures_.load(std::memory_order_relaxed) != 0; }
  // The program is about to free it.
  void forget(MPI_Request request);

 private:
  friend class SelfSend;

  const messages::MpiApi& api_;
  job::MpiOps& ops_;
  Sleepers& sleepers_;
  const MPI_Comm& comm_;
  mutable std::mutex mutex_;
  std::unordered_map<job::RequestHandle, std::shared_ptr<SelfSend>> all_;
  std::atomic<std::size_t> count_ = 0, failures_ = 0;
  std::atomic<int> tags_ = 0;  // the last one: what is not freed where we see it keeps its own
};

}  // namespace alm::mpi

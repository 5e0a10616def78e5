// MpiOps over the MPI library that was found.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "job/ops.h"
#include "messages/io/mpi_api.h"
#include "mpi/abi/algorithm_variables.h"
#include "mpi/abi/datatype.h"
#include "mpi/abi/messages.h"
#include "mpi/abi/persistent_requests.h"
#include "mpi/abi/sleepers.h"

namespace alm::mpi {

class AbiOps final : public job::MpiOps {
 public:
  // Precondition: MPI is initialised. `on_delete` gets the state of every communicator that is
  // freed. `before_abort` is called when this ends the job. `threads_asked_for`: the program has
  // asked for MPI_THREAD_MULTIPLE.
  AbiOps(const messages::MpiApi& api, void (*on_delete)(void* state),
         std::function<void()> before_abort, bool threads_asked_for);

  std::string library() const override;
  job::CommHandle world() const override;
  int comm_size(job::CommHandle comm, int& size) const override;
  int comm_rank(job::CommHandle comm, int& rank) const override;
  int is_intercommunicator(job::CommHandle comm, bool& inter) const override;
  int is_within_world(job::CommHandle comm, bool& within) const override;
  int allgather(job::CommHandle comm, std::span<const std::byte> bytes,
                std::span<std::byte> all) override;
  int alltoall(job::CommHandle comm, std::span<const std::uint64_t> out,
               std::span<std::uint64_t> in) override;
  int allreduce_min(job::CommHandle comm, std::span<std::uint64_t> values) override;
  base::Status barrier(job::CommHandle comm, base::Nanos patience,
                       const std::function<void()>& late) override;
  [[noreturn]] void abort(job::CommHandle comm, int code) override;
  int set_state(job::CommHandle comm, void* state) override;
  void* state(job::CommHandle comm) override;
  void progress() override;
  std::vector<std::uint32_t> ranks_in_world(job::CommHandle comm) override;
  std::vector<std::uint32_t> lost_ranks() override;
  bool is_contiguous(const job::TypedBuffer& buffer) override;
  int pack(const job::TypedBuffer& buffer, std::uint32_t ranks, std::byte* out) override;
  int unpack(const std::byte* in, std::uint32_t ranks, const job::TypedBuffer& buffer) override;
  bool is_revoked(job::CommHandle comm) override;
  bool has_topology(job::CommHandle comm) override;
  int neighbours(job::CommHandle comm, job::Neighbours& found) override;
  bool hold_type(job::TypedBuffer& buffer) override;
  void release_type(job::TypeHandle type) override;
  bool threads() const override;
  bool threads_asked_for() const override { return threads_asked_for_; }
  base::Result<std::unique_ptr<job::PendingRequest>> make_request(
      job::CommHandle comm, std::shared_ptr<const job::CommLife> life) override;
  base::Result<std::shared_ptr<job::PersistentRequest>> make_persistent(
      job::CommHandle comm, std::shared_ptr<const job::CommLife> life,
      std::function<void()> on_start) override;
  base::Result<std::unique_ptr<carrier::PointToPoint>> make_point_to_point(
      job::CommHandle comm, job::RankName name, double time_scale) override;
  int raise(job::CommHandle comm, const base::Error& error) override;
  int error_code(const base::Error& error) override;
  int raise_code(job::CommHandle comm, int code) override;
  void close() override;

  PersistentRequests& persistent() { return persistent_; }
  Packing packing() const { return {api_, private_self_, type_keyval_}; }

 private:
  // Tests the request until it is done, and returns the MPI error code; nothing: `limit` came
  // first.
  std::optional<int> poll(MPI_Request& request, base::Nanos limit);
  int complete(MPI_Request& request);

  int error_code(int error_class, const std::string& text);
  int make_error_code(int error_class, const std::string& text);
  bool errors_are_fatal(job::CommHandle comm);

  const messages::MpiApi& api_;
  std::function<void()> before_abort_;
  bool threads_asked_for_;
  int keyval_;
  int type_keyval_;
  Sleepers sleepers_;
  PersistentRequests persistent_;
  UnendedMessages unended_;
  AlgorithmVariables variables_;
  std::mutex error_mutex_;
  int error_class_ = -1;
  std::map<std::pair<int, std::string>, int> error_codes_;  // by class and text
  std::map<job::CommHandle, std::string> raised_;           // the latest text on each
  std::mutex progress_mutex_;  // a request may be tested by one thread at a time
  MPI_Comm private_self_;
  MPI_Request never_;  // a receive that matches no message: testing it drives MPI's progress
  std::byte never_byte_{};
};

}  // namespace alm::mpi

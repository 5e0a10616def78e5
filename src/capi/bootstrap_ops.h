// MpiOps for programs without MPI, which bring one function alone: an allgather. While
// Job::has_native is false, the communicator asks for nothing that only MPI can do.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "job/ops.h"

namespace alm::capi {

class BootstrapOps final : public job::MpiOps {
 public:
  // See alm_allgather_fn.
  using Allgather = std::function<int(const void* mine, std::size_t bytes, void* all)>;
  using Progress = std::function<void()>;

  static constexpr job::CommHandle kComm = 1;
  static constexpr int kFailed = 1;  // what raise() returns

  BootstrapOps(std::uint32_t ranks, std::uint32_t self, Allgather allgather, Progress progress)
      : ranks_(ranks),
        self_(self),
        allgather_(std::move(allgather)),
        progress_(std::move(progress)) {}

  // 0, or what the program's function has returned when it first failed.
  int failure() const { return failure_; }
  // The text of the last raise().
  const std::string& raised() const { return raised_; }

  std::string library() const override { return "no MPI library"; }
  job::CommHandle world() const override { return kComm; }
  int comm_size(job::CommHandle comm, int& size) const override;
  int comm_rank(job::CommHandle comm, int& rank) const override;
  int is_intercommunicator(job::CommHandle comm, bool& inter) const override;
  int is_within_world(job::CommHandle comm, bool& within) const override;
  int allgather(job::CommHandle comm, std::span<const std::byte> bytes,
                std::span<std::byte> all) override;
  int alltoall(job::CommHandle comm, std::span<const std::uint64_t> out,
               std::span<std::uint64_t> in) override;
  int allreduce_min(job::CommHandle comm, std::span<std::uint64_t> values) override;
  using job::MpiOps::allreduce_min;
  base::Status barrier(job::CommHandle comm, base::Nanos patience,
                       const std::function<void()>& late) override;
  [[noreturn]] void abort(job::CommHandle comm, int code) override;
  int set_state(job::CommHandle comm, void* state) override;
  void* state(job::CommHandle comm) override;
  void progress() override;
  bool is_contiguous(const job::TypedBuffer& buffer) override;
  int pack(const job::TypedBuffer& buffer, std::uint32_t ranks, std::byte* out) override;
  int unpack(const std::byte* in, std::uint32_t ranks, const job::TypedBuffer& buffer) override;
  bool hold_type(job::TypedBuffer&) override { return false; }
  void release_type(job::TypeHandle) override {}
  bool threads() const override { return false; }
  base::Result<std::unique_ptr<job::PendingRequest>> make_request(
      job::CommHandle comm, std::shared_ptr<const std::atomic<bool>> freed) override;
  base::Result<std::unique_ptr<carrier::PointToPoint>> make_point_to_point(
      job::CommHandle comm, job::RankName name, double time_scale) override;
  int raise(job::CommHandle comm, const base::Error& error) override;
  int error_code(const base::Error&) override { return kFailed; }
  int raise_code(job::CommHandle comm, int code) override;
  void close() override {}

 private:
  std::vector<std::uint64_t> gather_words(std::span<const std::uint64_t> mine);

  std::uint32_t ranks_, self_;
  Allgather allgather_;
  Progress progress_;
  int failure_ = 0;
  std::string raised_;
};

}  // namespace alm::capi

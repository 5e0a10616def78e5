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

class BootstrapOps final : public mpi::MpiOps {
 public:
  // See alm_allgather_fn.
  using Allgather = std::function<int(const void* mine, std::size_t bytes, void* all)>;
  using Progress = std::function<void()>;

  static constexpr mpi::CommHandle kComm = 1;
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
  mpi::CommHandle world() const override { return kComm; }
  int comm_size(mpi::CommHandle comm, int& size) const override;
  int comm_rank(mpi::CommHandle comm, int& rank) const override;
  int is_intercommunicator(mpi::CommHandle comm, bool& inter) const override;
  int is_within_world(mpi::CommHandle comm, bool& within) const override;
  int allgather(mpi::CommHandle comm, std::span<const std::byte> bytes,
                std::span<std::byte> all) override;
  int alltoall(mpi::CommHandle comm, std::span<const std::uint64_t> out,
               std::span<std::uint64_t> in) override;
  int allreduce_min(mpi::CommHandle comm, std::span<std::uint64_t> values) override;
  using MpiOps::allreduce_min;
  base::Status barrier(mpi::CommHandle comm, base::Nanos patience,
                       const std::function<void()>& late) override;
  [[noreturn]] void abort(mpi::CommHandle comm, int code) override;
  int set_state(mpi::CommHandle comm, void* state) override;
  void* state(mpi::CommHandle comm) override;
  void progress() override;
  bool is_contiguous(const mpi::TypedBuffer& buffer) override;
  int pack(const mpi::TypedBuffer& buffer, std::uint32_t ranks, std::byte* out) override;
  int unpack(const std::byte* in, std::uint32_t ranks, const mpi::TypedBuffer& buffer) override;
  bool hold_type(mpi::TypedBuffer&) override { return false; }
  void release_type(mpi::TypeHandle) override {}
  bool threads() const override { return false; }
  base::Result<std::unique_ptr<mpi::PendingRequest>> make_request(
      mpi::CommHandle comm, std::shared_ptr<const std::atomic<bool>> freed) override;
  base::Result<std::unique_ptr<carrier::PointToPoint>> make_point_to_point(
      mpi::CommHandle comm, mpi::RankName name, double time_scale) override;
  int raise(mpi::CommHandle comm, const base::Error& error) override;
  int error_code(const base::Error&) override { return kFailed; }
  int raise_code(mpi::CommHandle comm, int code) override;
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

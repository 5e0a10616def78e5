// Bootstrap for programs without MPI, which bring one function alone: an allgather. There is one
// communicator, and data are plain bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "job/bootstrap.h"

namespace alm::capi {

class AllgatherBootstrap final : public job::Bootstrap {
 public:
  // See alm_allgather_fn.
  using Allgather = std::function<int(const void* mine, std::size_t bytes, void* all)>;
  using Progress = std::function<void()>;

  static constexpr job::CommHandle kComm = 1;
  static constexpr int kFailed = 1;  // what raise() returns

  AllgatherBootstrap(std::uint32_t ranks, std::uint32_t self, Allgather allgather,
                     Progress progress)
      : ranks_(ranks),
        self_(self),
        allgather_(std::move(allgather)),
        progress_(std::move(progress)) {}

  // 0, or what the program's function has returned when it first failed.
  int failure() const { return failure_; }
  // The text of the last raise().
  const std::string& raised() const { return raised_; }

  int allgather(job::CommHandle comm, std::span<const std::byte> bytes,
                std::span<std::byte> all) override;
  int alltoall(job::CommHandle comm, std::span<const std::uint64_t> out,
               std::span<std::uint64_t> in) override;
  int allreduce_min(job::CommHandle comm, std::span<std::uint64_t> values) override;
  void progress() override;
  bool is_contiguous(const job::TypedBuffer& buffer) override;
  int pack(const job::TypedBuffer& buffer, std::uint32_t ranks, std::byte* out) override;
  int unpack(const std::byte* in, std::uint32_t ranks, const job::TypedBuffer& buffer) override;
  int raise(job::CommHandle comm, const base::Error& error) override;
  int raise_code(job::CommHandle comm, int code) override;

 private:
  std::vector<std::uint64_t> gather_words(std::span<const std::uint64_t> mine);

  std::uint32_t ranks_, self_;
  Allgather allgather_;
  Progress progress_;
  int failure_ = 0;
  std::string raised_;
};

}  // namespace alm::capi

#include "capi/allgather_bootstrap.h"

#include <algorithm>
#include <cstring>

namespace alm::capi {

// After a failure the ranks may no longer call alike: the program's function is left alone.
int AllgatherBootstrap::allgather(job::CommHandle, std::span<const std::byte> bytes,
                                  std::span<std::byte> all) {
  if (failure_ == 0) failure_ = allgather_(bytes.data(), bytes.size(), all.data());
  return failure_ == 0 ? job::kMpiSuccess : kFailed;
}

std::vector<std::uint64_t> AllgatherBootstrap::gather_words(std::span<const std::uint64_t> mine) {
  std::vector<std::uint64_t> all(mine.size() * ranks_);
  const int code =
      allgather(kComm, std::as_bytes(mine), std::as_writable_bytes(std::span<std::uint64_t>(all)));
  if (code != job::kMpiSuccess) all.clear();
  return all;
}

int AllgatherBootstrap::alltoall(job::CommHandle, std::span<const std::uint64_t> out,
                                 std::span<std::uint64_t> in) {
  const auto all = gather_words(out);
  if (all.empty()) return kFailed;
  for (std::size_t rank = 0; rank < ranks_; ++rank) in[rank] = all[rank * ranks_ + self_];
  return job::kMpiSuccess;
}

int AllgatherBootstrap::allreduce_min(job::CommHandle, std::span<std::uint64_t> values) {
  const auto all = gather_words(values);
  if (all.empty()) return kFailed;
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto& least = values[i % values.size()];
    least = std::min(least, all[i]);
  }
  return job::kMpiSuccess;
}

void AllgatherBootstrap::progress() {
  if (progress_) progress_();
}

bool AllgatherBootstrap::is_contiguous(const job::TypedBuffer&) { return true; }

int AllgatherBootstrap::pack(const job::TypedBuffer& buffer, std::uint32_t ranks, std::byte* out) {
  std::memcpy(out, buffer.base, buffer.bytes() * ranks);
  return job::kMpiSuccess;
}

int AllgatherBootstrap::unpack(const std::byte* in, std::uint32_t ranks,
                               const job::TypedBuffer& buffer) {
  std::memcpy(buffer.base, in, buffer.bytes() * ranks);
  return job::kMpiSuccess;
}

int AllgatherBootstrap::raise(job::CommHandle, const base::Error& error) {
  raised_ = error.message;
  return kFailed;
}

int AllgatherBootstrap::raise_code(job::CommHandle, int code) { return code; }

}  // namespace alm::capi

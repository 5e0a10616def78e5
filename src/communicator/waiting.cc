#include "communicator/waiting.h"

#include <algorithm>

#include "transport/io/endpoint.h"

namespace alm::communicator {

// Where every rank sends `block` to each, all know how much that is. Else they tell each other,
// from time to time.
int Waiting::call(job::MpiOps& mpi, job::CommHandle comm, std::uint32_t ranks,
                  const Buffers& buffers, const job::TypedBuffer* block) {
  if (!by_bytes_ && (block == nullptr || !tuning::DueByTime::waits_for(block->bytes()))) {
    by_time_.come();
    return job::kMpiSuccess;
  }
  if (by_time_.compares()) {
    if (const int code = compare_times(mpi, comm); code != job::kMpiSuccess) return code;
  }
  if (!by_bytes_) return job::kMpiSuccess;
  if (block == nullptr && by_bytes_->asks()) {
    if (const int code = compare_bytes(mpi, comm, buffers); code != job::kMpiSuccess) return code;
  }
  by_bytes_->call(block != nullptr ? block->bytes() * (ranks - 1) : by_bytes_->agreed());
  return job::kMpiSuccess;
}

bool Waiting::is_over() const { return by_time_.reached() || (by_bytes_ && by_bytes_->reached()); }

int Waiting::compare_times(job::MpiOps& mpi, job::CommHandle comm) {
  auto figures = by_time_.figures();
  const base::Nanos begin = io::monotonic_now();
  if (const int code = mpi.allreduce_min(comm, figures); code != job::kMpiSuccess) return code;
  by_time_.compared(figures, io::monotonic_now() - begin);
  return job::kMpiSuccess;
}

int Waiting::compare_bytes(job::MpiOps& mpi, job::CommHandle comm, const Buffers& buffers) {
  std::uint64_t fullest = 0;
  for (const std::span<const job::TypedBuffer> side : buffers) {
    std::uint64_t bytes = 0;
    for (const job::TypedBuffer& buffer : side) bytes += buffer.bytes();
    fullest = std::max(fullest, bytes);
  }
  const int code = mpi.allreduce_max(comm, std::span(&fullest, 1));
  if (code == job::kMpiSuccess) by_bytes_->agreed(fullest);
  return code;
}

int Waiting::by_library(const std::function<int()>& native, const job::TypedBuffer* block) {
  const base::Nanos begin = io::monotonic_now();
  const int code = native();
  const base::Nanos time = io::monotonic_now() - begin;
  by_time_.took(time);
  library_calls_.took(block != nullptr ? block->bytes() : 0, time);
  return code;
}

}  // namespace alm::communicator

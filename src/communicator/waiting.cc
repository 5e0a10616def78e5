#include "communicator/waiting.h"

#include <algorithm>

#include "transport/io/endpoint.h"

namespace alm::communicator {

int Waiting::call(job::MpiOps& mpi, job::CommHandle comm, std::uint32_t ranks,
                  const Buffers& buffers, const job::TypedBuffer* block) {
  if (auto* by_time = std::get_if<tuning::DueByTime>(&due_)) {
    return count(*by_time, mpi, comm, block);
  }
  return count(std::get<tuning::DueByBytes>(due_), mpi, comm, ranks, buffers, block);
}

bool Waiting::is_over() const {
  return std::visit([](const auto& due) { return due.reached(); }, due_);
}

// Where every rank sends `block` to each, all know how much that is. Else they tell each other,
// from time to time.
int Waiting::count(tuning::DueByBytes& due, job::MpiOps& mpi, job::CommHandle comm,
                   std::uint32_t ranks, const Buffers& buffers, const job::TypedBuffer* block) {
  std::uint64_t fullest = 0;
  if (block != nullptr) {
    fullest = block->bytes() * (ranks - 1);
  } else if (!due.asks()) {
    fullest = due.agreed();
  } else {
    for (const std::span<const job::TypedBuffer> side : buffers) {
      std::uint64_t bytes = 0;
      for (const job::TypedBuffer& buffer : side) bytes += buffer.bytes();
      fullest = std::max(fullest, bytes);
    }
    const int code = mpi.allreduce_max(comm, std::span(&fullest, 1));
    if (code != job::kMpiSuccess) return code;
    due.agreed(fullest);
  }
  due.call(fullest);
  return job::kMpiSuccess;
}

int Waiting::count(tuning::DueByTime& due, job::MpiOps& mpi, job::CommHandle comm,
                   const job::TypedBuffer* block) {
  if (block == nullptr || !tuning::DueByTime::waits_for(block->bytes())) {
    due.come();
  } else if (due.compares()) {
    auto figures = due.figures();
    const base::Nanos begin = io::monotonic_now();
    if (const int code = mpi.allreduce_min(comm, figures); code != job::kMpiSuccess) return code;
    due.compared(figures, io::monotonic_now() - begin);
  }
  return job::kMpiSuccess;
}

int Waiting::by_library(const std::function<int()>& native) {
  const base::Nanos begin = io::monotonic_now();
  const int code = native();
  if (auto* due = std::get_if<tuning::DueByTime>(&due_)) due->took(io::monotonic_now() - begin);
  return code;
}

}  // namespace alm::communicator

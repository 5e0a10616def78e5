// A communicator that is not brought up yet: its calls go to the MPI library until it is due
// (tuning/due.h).
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "job/ops.h"
#include "tuning/due.h"
#include "tuning/library_calls.h"

namespace alm::communicator {

class Waiting {
 public:
  // [side] the buffers of a call, received and sent.
  using Buffers = std::array<std::span<const job::TypedBuffer>, 2>;

  // MPI_COMM_WORLD, which waits with small blocks alone. `refusal`: why the communicator cannot be
  // brought up, on this rank; empty: it can.
  Waiting(tuning::DueByTime by_time, std::string_view refusal)
      : by_time_(by_time), refusal_(refusal) {}
  // Any other.
  Waiting(tuning::DueByTime by_time, tuning::DueByBytes by_bytes, std::string_view refusal)
      : by_time_(by_time), by_bytes_(by_bytes), refusal_(refusal) {}

  // Collective: comes before each call. `block`: what every rank sends to each of the `ranks`
  // others and itself; null: they differ. Returns an MPI error code.
  int call(job::MpiOps& mpi, job::CommHandle comm, std::uint32_t ranks, const Buffers& buffers,
           const job::TypedBuffer* block);
  // Whether bring-up is due with the call that has come.
  bool is_over() const;
  // The same call by the library, whose time counts. Returns its error code.
  int by_library(const std::function<int()>& native, const job::TypedBuffer* block);
  // Whether such calls have waited for time-outs.
  const tuning::LibraryCalls& library_calls() const { return library_calls_; }

  const std::string& refusal() const { return refusal_; }

 private:
  int compare_times(job::MpiOps& mpi, job::CommHandle comm);
  int compare_bytes(job::MpiOps& mpi, job::CommHandle comm, const Buffers& buffers);

  tuning::DueByTime by_time_;
  std::optional<tuning::DueByBytes> by_bytes_;
  std::string refusal_;
  tuning::LibraryCalls library_calls_;
};

}  // namespace alm::communicator

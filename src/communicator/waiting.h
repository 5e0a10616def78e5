// A communicator that is not brought up yet: its calls go to the MPI library until it is due
// (tuning/due.h).
#pragma once

#include <array>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "job/ops.h"
#include "tuning/due.h"

namespace alm::communicator {

class Waiting {
 public:
  using Due = std::variant<tuning::DueByBytes, tuning::DueByTime>;
  // [side] the buffers of a call, received and sent.
  using Buffers = std::array<std::span<const job::TypedBuffer>, 2>;

  // `refusal`: why the communicator cannot be brought up, on this rank; empty: it can.
  Waiting(Due due, std::string_view refusal) : due_(due), refusal_(refusal) {}

  // Collective: comes before each call. `block`: what every rank sends to each of the `ranks`
  // others and itself; null: they differ. Returns an MPI error code.
  int call(job::MpiOps& mpi, job::CommHandle comm, std::uint32_t ranks, const Buffers& buffers,
           const job::TypedBuffer* block);
  // Whether bring-up is due with the call that has come.
  bool is_over() const;
  // The same call by the library, whose time may count. Returns its error code.
  int by_library(const std::function<int()>& native);

  const std::string& refusal() const { return refusal_; }

 private:
  int count(tuning::DueByBytes& due, job::MpiOps& mpi, job::CommHandle comm, std::uint32_t ranks,
            const Buffers& buffers, const job::TypedBuffer* block);
  int count(tuning::DueByTime& due, job::MpiOps& mpi, job::CommHandle comm,
            const job::TypedBuffer* block);

  Due due_;
  std::string refusal_;
};

}  // namespace alm::communicator

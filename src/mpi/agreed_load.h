// What the fullest rank of a communicator carries in MPI_Alltoallv and MPI_Alltoallw, where ranks
// share hosts or exchange by MPI messages: the size class of their trials. The ranks compare it by
// an MPI collective. How often follows from what was agreed on before, so that all of them do it at
// the same call: every time while it changes, ever more rarely while it does not.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"
#include "base/time.h"
#include "mpi/ops.h"

namespace alm::mpi {

class AgreedLoad {
 public:
  // Collective, before every exchange. `send` and `recv`: bytes to and from each rank, its own
  // among them. `limit`: what the links need for such an exchange, where this rank knows; else 0.
  // An error: this rank alone does not know what the others have agreed on.
  base::Status prepare(MpiOps& ops, CommHandle comm, std::span<const std::uint64_t> send,
                       std::span<const std::uint64_t> recv, std::uint32_t self, base::Nanos limit);

  // As last agreed on; 1 or more.
  std::uint64_t bytes() const { return bytes_; }
  base::Nanos limit() const { return limit_; }

 private:
  std::uint64_t bytes_ = 1;
  base::Nanos limit_ = 0;
  std::uint64_t wait_ = 0;  // calls until the ranks compare again
  std::uint32_t without_news_ = 0;
};

}  // namespace alm::mpi

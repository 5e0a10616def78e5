// Whether every rank expects what the others send it. MPI messages do not tell what is missing, so
// sizes are compared before them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/result.h"
#include "mpi/members.h"
#include "mpi/ops.h"

namespace alm::mpi {

struct SizesDiffer {
  base::Error error;
  bool known_to_all = false;  // false: this rank alone cannot go on
};

// Collective. Bytes to and from each rank; nothing: they fit.
std::optional<SizesDiffer> compare_sizes(MpiOps& ops, CommHandle comm, const Members& members,
                                         std::span<const std::uint64_t> sends,
                                         std::span<const std::uint64_t> expects);

}  // namespace alm::mpi

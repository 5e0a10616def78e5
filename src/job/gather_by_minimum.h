// A gather by MPI_Allreduce, for libraries whose MPI_Iallgather sends from every rank to every
// other: a rank's words stand at its place, and the others have no words there that are less.
#pragma once

#include <cstddef>
#include <span>

#include "job/bootstrap.h"

namespace alm::job {

// Collective over `comm`, in which this rank is `self`. As Bootstrap::allgather().
[[nodiscard]] int gather_by_minimum(Bootstrap& bootstrap, CommHandle comm, std::size_t self,
                                    std::span<const std::byte> bytes, std::span<std::byte> all);

}  // namespace alm::job

// Describes one side of MPI_Alltoallv or MPI_Alltoallw as one buffer per rank.
#pragma once

#include <optional>
#include <vector>

#include "mpi/abi/datatype.h"
#include "mpi/abi/entry.h"

namespace alm::mpi {

// [rank] its buffer. `typed`: each has a type of its own. Nothing where an argument is invalid: the
// MPI library reports that.
std::optional<std::vector<job::TypedBuffer>> describe_blocks(
    const Packing& packing, const entry::BlockArguments::Side& side, bool typed, std::size_t ranks);

}  // namespace alm::mpi

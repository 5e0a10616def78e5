// The neighbours of a rank in a communicator with a topology: Cartesian, a graph, or a distributed
// graph.
#pragma once

#include <cstdint>
#include <optional>

#include "job/ops.h"
#include "messages/io/mpi_api.h"

namespace alm::mpi {

// How many blocks the neighbour collectives have.
struct Degrees {
  std::size_t in = 0, out = 0;
};

// Nothing: the communicator has no topology. Local.
std::optional<Degrees> degrees_of(const messages::MpiApi& api, MPI_Comm comm);

// Collective. Returns an MPI error code.
int find_neighbours(const messages::MpiApi& api, MPI_Comm comm, job::Neighbours& found);

}  // namespace alm::mpi

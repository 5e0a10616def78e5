#include "mpi/abi/neighbours.h"

#include <algorithm>
#include <vector>

namespace alm::mpi {
namespace {

int topology_of(const messages::MpiApi& api, MPI_Comm comm) {
  int kind = MPI_UNDEFINED;
  return api.Topo_test(comm, &kind) == MPI_SUCCESS ? kind : MPI_UNDEFINED;
}

// The ranks that blocks go to, by slot; below 0: to nobody.
int destinations(const messages::MpiApi& api, MPI_Comm comm, std::vector<int>& to) {
  int self = 0;
  switch (topology_of(api, comm)) {
    case MPI_CART:
      for (std::size_t slot = 0; slot + 1 < to.size(); slot += 2) {
        const int code =
            api.Cart_shift(comm, static_cast<int>(slot / 2), 1, &to[slot], &to[slot + 1]);
        if (code != MPI_SUCCESS) return code;
      }
      return MPI_SUCCESS;
    case MPI_GRAPH:
      if (const int code = api.Comm_rank(comm, &self); code != MPI_SUCCESS) return code;
      return api.Graph_neighbors(comm, self, static_cast<int>(to.size()), to.data());
    default:
      break;
  }
  int in = 0;
  int out = 0;
  int weighted = 0;
  if (const int code = api.Dist_graph_neighbors_count(comm, &in, &out, &weighted);
      code != MPI_SUCCESS) {
    return code;
  }
  // Where there are no weights, libraries read what they do not have.
  std::vector<int> from(static_cast<std::size_t>(in)), from_weights(from), to_weights(to);
  return api.Dist_graph_neighbors(comm, in, from.data(),
                                  weighted != 0 ? from_weights.data() : api.unweighted, out,
                                  to.data(), weighted != 0 ? to_weights.data() : api.unweighted);
}

}  // namespace

std::optional<Degrees> degrees_of(const messages::MpiApi& api, MPI_Comm comm) {
  int in = 0;
  int out = 0;
  int self = 0;
  int weighted = 0;
  int code = MPI_SUCCESS;
  switch (topology_of(api, comm)) {
    case MPI_CART:
      code = api.Cartdim_get(comm, &in);
      in = out = 2 * in;
      break;
    case MPI_GRAPH:
      code = api.Comm_rank(comm, &self);
      if (code == MPI_SUCCESS) code = api.Graph_neighbors_count(comm, self, &in);
      out = in;
      break;
    case MPI_DIST_GRAPH:
      code = api.Dist_graph_neighbors_count(comm, &in, &out, &weighted);
      break;
    default:
      return std::nullopt;
  }
  if (code != MPI_SUCCESS || in < 0 || out < 0) return std::nullopt;
  return Degrees{static_cast<std::size_t>(in), static_cast<std::size_t>(out)};
}

// Between the same two ranks there may be several edges, and the standard has changed its mind on
// which block belongs to which (a periodic dimension of one or two ranks). The library is asked by
// a call in which each block says where it comes from, so that the answer is its own.
int find_neighbours(const messages::MpiApi& api, MPI_Comm comm, job::Neighbours& found) {
  const auto degrees = degrees_of(api, comm);
  if (!degrees) return MPI_ERR_TOPOLOGY;
  int self = 0;
  if (const int code = api.Comm_rank(comm, &self); code != MPI_SUCCESS) return code;
  std::vector<int> to(degrees->out, MPI_PROC_NULL);
  if (const int code = destinations(api, comm, to); code != MPI_SUCCESS) return code;
  const auto word = [](std::uint32_t rank, std::uint32_t slot) {
    return std::uint64_t{rank} << 32 | slot;
  };
  std::vector<std::uint64_t> sent, came(degrees->in, word(job::Neighbours::kNobody, 0));
  for (std::size_t slot = 0; slot < to.size(); ++slot) {
    const bool nobody = to[slot] < 0;
    found.to.push_back(nobody ? job::Neighbours::kNobody : static_cast<std::uint32_t>(to[slot]));
    sent.push_back(word(static_cast<std::uint32_t>(self), static_cast<std::uint32_t>(slot)));
  }
  sent.reserve(1);  // some libraries refuse null
  came.reserve(1);
  const int code =
      api.Neighbor_alltoall(sent.data(), 1, api.uint64, came.data(), 1, api.uint64, comm);
  if (code != MPI_SUCCESS) return code;
  for (const std::uint64_t from : came) {
    found.from.push_back(
        {static_cast<std::uint32_t>(from >> 32), static_cast<std::uint32_t>(from)});
  }
  return MPI_SUCCESS;
}

}  // namespace alm::mpi

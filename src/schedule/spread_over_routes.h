// Spreads the packets of one step over several equal routes between leaves, so that no leaf sends
// or receives more by any route than it must.
//
// Leaves that send and leaves that receive are the two sides of a bipartite multigraph, packets its
// edges. A colouring of the edges with as many colours as the fullest leaf has packets always
// exists (König). It is found packet by packet; where two leaves have no free colour in common,
// colours are swapped along one alternating path. The route of a packet is its colour modulo
// `routes`: each route carries at most ceil(n_max / routes) packets of a leaf, where n_max is the
// fullest leaf's number.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace alm::schedule {

struct LeafSend {
  std::uint32_t from = 0, to = 0;  // leaves
};

// Returns [send] the route, 0 .. routes - 1. Packets that stay below one leaf need no route: leave
// them out. Preconditions: `from` and `to` below `leaves`, routes >= 1. O(sends x leaves) at worst.
std::vector<std::uint32_t> spread_over_routes(std::span<const LeafSend> sends, std::uint32_t leaves,
                                              std::uint32_t routes);

}  // namespace alm::schedule

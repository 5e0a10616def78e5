// Spreads the packets of one step over several equal ways between leaves, so that no leaf sends or
// receives more by any way than it must.
//
// Leaves that send and leaves that receive are the two sides of a bipartite multigraph, packets its
// edges. A colouring of the edges with as many colours as the fullest leaf has packets always
// exists (König). It is found packet by packet; where two leaves have no free colour in common,
// colours are swapped along one alternating path. The way of a packet is its colour modulo `ways`:
// each way carries at most ceil(n_max / ways) packets of a leaf, where n_max is the fullest leaf's
// number.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace alm::schedule {

struct LeafSend {
  std::uint32_t from = 0, to = 0;  // leaves
};

// Returns [send] the way, 0 .. ways - 1. Packets that stay below one leaf need no way: leave them
// out. Preconditions: `from` and `to` below `leaves`, ways >= 1. O(sends x leaves) at worst.
std::vector<std::uint32_t> spread_over_ways(std::span<const LeafSend> sends, std::uint32_t leaves,
                                            std::uint32_t ways);

}  // namespace alm::schedule

// Which of several equal ways between leaves each packet of one step takes, such that no leaf sends
// or receives more by any of them than it must.
//
// Leaves that send and leaves that receive are the two sides of a bipartite multigraph, packets its
// edges. A colouring of the edges with as many colours as the fullest leaf has packets always
// exists (König) and is found packet by packet, with a change along one alternating path where the
// two leaves have no free colour in common. Colours modulo `ways` are the ways: of n packets of a
// leaf each carries ceil(n_max / ways) at most, where n_max is the fullest leaf's number.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace alm::schedule {

struct LeafSend {
  std::uint32_t from = 0, to = 0;  // leaves
};

// [send] 0 .. ways - 1. What stays below a leaf needs none of them: leave it out. `from` and `to`
// below `leaves`; ways >= 1. O(sends x leaves) at worst.
std::vector<std::uint32_t> spread_over_ways(std::span<const LeafSend> sends, std::uint32_t leaves,
                                            std::uint32_t ways);

}  // namespace alm::schedule

// The complete exchange in a few phases that combine messages, for any number of ranks (Bruck, Ho,
// Kipnis, Upfal and Weathersby: Efficient algorithms for all-to-all communications in multiport
// message-passing systems, IEEE TPDS 8(11), 1997). A block from rank i to rank i + distance mod p
// goes there digit by digit: the distance is written in a mixed radix, and in the phase of the
// digit of weight w rank i passes the blocks with digit d to rank i + d w.
//
// `both_ways` is our variant: odd radices with digits from -(r-1)/2 to (r-1)/2, so that in each
// phase a rank receives from the ranks it sends to, and acknowledgements ride on data as everywhere
// else. A distance of p/2 is covered at once in the first phase: it is its own opposite.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace alm::plan {

constexpr std::size_t kBruckPhasesMax = 5;

struct Bruck {
  struct Phase {
    // Message i goes to rank self + shift[i] and comes from rank self - shift[i], modulo the ranks.
    // It holds the blocks with the distances block[begin[i]] to block[begin[i + 1] - 1].
    std::vector<std::uint32_t> shift, begin, block;
  };
  std::uint32_t ranks = 0;
  std::vector<std::uint32_t> radices;
  std::vector<Phase> phases;
};

// `radices` are those of all digits but the last, whose radix follows; each is 2 or more, and odd
// for both ways. Without radices there is one phase with all partners.
Bruck make_bruck(std::uint32_t ranks, std::span<const std::uint32_t> radices, bool both_ways);

// Radix r in all digits, one way: ceil(log_r p) phases.
Bruck make_uniform_bruck(std::uint32_t ranks, std::uint32_t radix);

// For each number of phases from 2 to kBruckPhasesMax the variant of both ways with the fewest
// messages.
std::vector<Bruck> make_brucks(std::uint32_t ranks);

// Partners + 1, by phase: how many values each digit takes.
std::vector<std::uint32_t> shape_of(const Bruck& bruck);

}  // namespace alm::plan

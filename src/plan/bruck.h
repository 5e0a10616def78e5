// The complete exchange in a few phases with messages combined, for any number of ranks (Bruck, Ho,
// Kipnis, Upfal and Weathersby: Efficient algorithms for all-to-all communications in multiport
// message-passing systems, IEEE TPDS 8(11), 1997). A block that has to go a distance, from rank i
// to rank i + distance mod p, goes there digit by digit: the distance is written in a mixed radix,
// and in the phase of a digit of weight w each rank hands the blocks with digit d to rank i + d w.
//
// `both_ways` is ours: odd radices with digits from -(r-1)/2 to (r-1)/2, so that whoever a rank
// sends to in a phase also sends to it, and acknowledgements ride on data as everywhere else. A
// distance of p/2 goes at once in the first phase: it is its own opposite.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace alm::plan {

constexpr std::size_t kBruckPhasesMax = 5;

struct Bruck {
  struct Phase {
    // To rank self + shift[i], from rank self - shift[i], modulo the ranks: the blocks with the
    // distances block[begin[i]] to block[begin[i + 1] - 1].
    std::vector<std::uint32_t> shift, begin, block;
  };
  std::uint32_t ranks = 0;
  std::vector<std::uint32_t> radices;
  std::vector<Phase> phases;
};

// The radix of the last digit is whatever it takes: `radices` are those before it, each 2 or more,
// and odd for both ways. One phase with all partners where there are none.
Bruck make_bruck(std::uint32_t ranks, std::span<const std::uint32_t> radices, bool both_ways);

// Radix r all along, one way: ceil(log_r p) phases.
Bruck make_uniform_bruck(std::uint32_t ranks, std::uint32_t radix);

// Both ways, one for each number of phases from 2 to kBruckPhasesMax: that with the fewest
// messages.
std::vector<Bruck> make_brucks(std::uint32_t ranks);

// Partners and 1, by phase: so many values a digit takes.
std::vector<std::uint32_t> shape_of(const Bruck& bruck);

}  // namespace alm::plan

// An uneven exchange as a sequence of contention-free steps: its matrix of loads, written as a
// weighted sum of matchings.
//
// Birkhoff and von Neumann: a matrix whose rows and columns have all the same sum is a weighted sum
// of permutations, with weights that add up to that sum. So any loads can be sent in as many steps
// as the fullest row or column has units, with no rank sending or receiving twice in a step; rows
// and columns that have less are filled up with idling. The exact sum may take p^2 - 2p + 2
// permutations; this one is greedy and ends after 4p. It looks for a perfect matching among the
// entries above a threshold, takes it as often as its least entry allows, and lowers the threshold
// (the slicing of Solstice, Liu et al., "Scheduling Techniques for Hybrid Circuit/Packet Networks",
// ACM 2015, which halves it). The rest, a few percent for the most uneven loads, is left to the
// caller, who spreads it over the steps.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace alm::schedule {

struct Matching {
  std::uint32_t steps = 0;        // how often it is taken
  std::vector<std::uint32_t> to;  // [rank]; the rank itself: it idles
};

struct Decomposition {
  std::vector<Matching> matchings;  // at most 4 ranks of them, heavy ones first
  std::uint64_t steps = 0;          // of all matchings; at most steps_min()
  std::vector<std::uint32_t> rest;  // [from * ranks + to] units in no matching; empty: none
};

// `units` are [from * ranks + to]; the diagonal is not looked at. Preconditions: 2 <= ranks, row
// and column sums below 2^32. Each matching carries up to `steps` units from each rank to its
// partner. About O(ranks^3) for the usual matrices.
Decomposition decompose(std::span<const std::uint32_t> units, std::uint32_t ranks);

// The largest row or column sum without the diagonal: no sequence of steps is shorter.
std::uint64_t steps_min(std::span<const std::uint32_t> units, std::uint32_t ranks);

}  // namespace alm::schedule

// The interleaved order: all ranks in a row, each group of each level spread evenly over it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "schedule/grouping.h"

namespace alm::schedule {

// A row in which item g appears shares[g] times, as evenly as possible: the first k places hold it
// k * shares[g] / total times, give or take less than one (the chairman assignment). With equal
// shares it is 0 1 2 .. 0 1 2 ..
std::vector<std::uint32_t> fair_sequence(std::span<const std::uint32_t> shares);

// All ranks in a row that is fair among the coarsest groups, then among the subgroups of each, and
// so on down. Two levels of equal groups give 000 Eq 5: place = floor(r / d1) + (r mod d1) * d2.
std::vector<base::Rank> interleaved(const Grouping& grouping);

}  // namespace alm::schedule

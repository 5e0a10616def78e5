// Checks schedules and counts how they load the uplinks: for tests and comparisons.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedule/schedule.h"

namespace alm::schedule {

// The first thing that is wrong; empty: nothing.
std::string check_valid(const Schedule& schedule);

std::uint32_t idle_ranks(const Schedule& schedule, std::uint32_t step);

// Packets out of and into each group of a level in one step.
struct Load {
  std::vector<std::uint32_t> out, in;  // [group]
};
Load uplink_load(const Schedule& schedule, const Grouping& grouping, std::size_t level,
                 std::uint32_t step);

// The most packets that `window` consecutive steps put on each uplink of a level, in either
// direction; and the largest of these figures.
std::vector<std::uint32_t> worst_loads(const Schedule& schedule, const Grouping& grouping,
                                       std::size_t level, std::uint32_t window);
std::uint32_t worst_load(const Schedule& schedule, const Grouping& grouping, std::size_t level,
                         std::uint32_t window);

// The group of a level each rank is in.
std::vector<std::uint32_t> group_of_rank(const Grouping& grouping, std::size_t level);

}  // namespace alm::schedule

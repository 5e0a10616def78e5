// For tests: whether schedules are valid, and how they load the uplinks.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "schedule/schedule.h"

namespace alm::schedule {

// Ranks numbered leaf by leaf.
inline Grouping grouping_of_leaves(std::span<const std::uint32_t> sizes) {
  std::vector<std::vector<std::uint32_t>> leaf_of(1);
  for (std::uint32_t leaf = 0; leaf < sizes.size(); ++leaf) {
    leaf_of.front().insert(leaf_of.front().end(), sizes[leaf], leaf);
  }
  return Grouping::make(static_cast<std::uint32_t>(leaf_of.front().size()), leaf_of).value();
}

// The first thing that is wrong; empty: nothing.
inline std::string check_valid(const Schedule& schedule) {
  const std::uint32_t p = schedule.ranks();
  std::vector<std::uint32_t> met(std::size_t{p} * p, 0);
  std::vector<std::uint32_t> received(p);
  for (std::uint32_t step = 0; step < schedule.steps(); ++step) {
    std::fill(received.begin(), received.end(), 0);
    for (std::uint32_t rank = 0; rank < p; ++rank) {
      const base::Rank to = schedule.send_to({rank}, step);
      if (!to.valid()) continue;
      if (to.value >= p || to.value == rank) {
        return fmt::format("step {}: {} sends to {}", step, rank, to.value);
      }
      if (received[to.value]++ != 0) {
        return fmt::format("step {}: {} receives twice", step, to.value);
      }
      if (schedule.recv_from(to, step) != base::Rank{rank}) {
        return fmt::format("step {}: {} sends to {}, which expects {}", step, rank, to.value,
                           schedule.recv_from(to, step).value);
      }
      if (schedule.pairs() && schedule.send_to(to, step) != base::Rank{rank}) {
        return fmt::format("step {}: {} and {} are no pair", step, rank, to.value);
      }
      ++met[std::size_t{rank} * p + to.value];
    }
    for (std::uint32_t rank = 0; rank < p; ++rank) {
      if (received[rank] == 0 && schedule.recv_from({rank}, step).valid()) {
        return fmt::format("step {}: {} expects {}, which does not send to it", step, rank,
                           schedule.recv_from({rank}, step).value);
      }
    }
  }
  for (std::uint32_t from = 0; from < p; ++from) {
    for (std::uint32_t to = 0; to < p; ++to) {
      if (met[std::size_t{from} * p + to] != (from == to ? 0 : 1)) {
        return fmt::format("{} sends to {} {} times", from, to, met[std::size_t{from} * p + to]);
      }
    }
  }
  return "";
}

inline std::uint32_t idle_ranks(const Schedule& schedule, std::uint32_t step) {
  std::uint32_t idle = 0;
  for (std::uint32_t rank = 0; rank < schedule.ranks(); ++rank) {
    idle += schedule.send_to({rank}, step).valid() ? 0 : 1;
  }
  return idle;
}

// The group of a level each rank is in.
inline std::vector<std::uint32_t> group_of_rank(const Grouping& grouping, std::size_t level) {
  std::vector<std::uint32_t> out(grouping.ranks());
  for (std::uint32_t group = 0; group < grouping.groups(level); ++group) {
    for (std::uint32_t i = grouping.begins(level)[group]; i < grouping.begins(level)[group + 1];
         ++i) {
      out[grouping.order()[i].value] = group;
    }
  }
  return out;
}

// Packets out of and into each group of a level in one step.
struct Load {
  std::vector<std::uint32_t> out, in;  // [group]
};

inline Load load_of(const Schedule& schedule, const std::vector<std::uint32_t>& group,
                    std::size_t groups, std::uint32_t step) {
  Load load{std::vector<std::uint32_t>(groups, 0), std::vector<std::uint32_t>(groups, 0)};
  for (std::uint32_t rank = 0; rank < schedule.ranks(); ++rank) {
    const base::Rank to = schedule.send_to({rank}, step);
    if (!to.valid() || group[rank] == group[to.value]) continue;
    ++load.out[group[rank]];
    ++load.in[group[to.value]];
  }
  return load;
}

inline Load uplink_load(const Schedule& schedule, const Grouping& grouping, std::size_t level,
                        std::uint32_t step) {
  return load_of(schedule, group_of_rank(grouping, level), grouping.groups(level), step);
}

// The most packets that `window` consecutive steps put on each uplink of a level, in either
// direction.
inline std::vector<std::uint32_t> worst_loads(const Schedule& schedule, const Grouping& grouping,
                                              std::size_t level, std::uint32_t window) {
  const std::vector<std::uint32_t> group = group_of_rank(grouping, level);
  const std::size_t groups = grouping.groups(level);
  std::vector<Load> loads;
  for (std::uint32_t step = 0; step < schedule.steps(); ++step) {
    loads.push_back(load_of(schedule, group, groups, step));
  }
  std::vector<std::uint32_t> worst(groups, 0);
  for (std::size_t g = 0; g < groups; ++g) {
    std::uint32_t out = 0, in = 0;
    for (std::size_t step = 0; step < loads.size(); ++step) {
      out += loads[step].out[g];
      in += loads[step].in[g];
      if (step >= window) {
        out -= loads[step - window].out[g];
        in -= loads[step - window].in[g];
      }
      worst[g] = std::max({worst[g], out, in});
    }
  }
  return worst;
}

// The largest of these figures.
inline std::uint32_t worst_load(const Schedule& schedule, const Grouping& grouping,
                                std::size_t level, std::uint32_t window) {
  const std::vector<std::uint32_t> worst = worst_loads(schedule, grouping, level, window);
  return *std::max_element(worst.begin(), worst.end());
}

}  // namespace alm::schedule

#include "meeting/round_trip_table.h"

#include <algorithm>

namespace alm::meeting {

base::Nanos RoundTripTable::between(std::size_t a, std::size_t b) const {
  const base::Nanos there = round_trips_[a * hosts_ + b];
  const base::Nanos back = round_trips_[b * hosts_ + a];
  return there == 0 || back == 0 ? std::max(there, back) : std::min(there, back);
}

base::Nanos RoundTripTable::longer(std::size_t a, std::size_t b) const {
  return std::max(round_trips_[a * hosts_ + b], round_trips_[b * hosts_ + a]);
}

std::vector<base::Nanos> RoundTripTable::sorted() const {
  std::vector<base::Nanos> all;
  for (std::size_t a = 0; a < hosts_; ++a) {
    for (std::size_t b = a + 1; b < hosts_; ++b) {
      if (const base::Nanos one = between(a, b); one > 0) all.push_back(one);
    }
  }
  std::sort(all.begin(), all.end());
  return all;
}

std::vector<std::uint32_t> RoundTripTable::groups(base::Nanos near) const {
  constexpr auto kNone = static_cast<std::uint32_t>(-1);
  std::vector<std::uint32_t> group_of(hosts_, kNone);
  std::uint32_t count = 0;
  std::vector<std::size_t> reached;
  for (std::size_t first = 0; first < hosts_; ++first) {
    if (group_of[first] != kNone) continue;
    group_of[first] = count;
    reached.assign(1, first);
    while (!reached.empty()) {
      const std::size_t from = reached.back();
      reached.pop_back();
      for (std::size_t to = 0; to < hosts_; ++to) {
        const base::Nanos time = between(from, to);
        if (group_of[to] != kNone || time == 0 || time > near) continue;
        group_of[to] = count;
        reached.push_back(to);
      }
    }
    ++count;
  }
  return group_of;
}

std::optional<std::pair<std::size_t, std::size_t>> RoundTripTable::apart(
    std::span<const std::uint32_t> groups, base::Nanos near) const {
  for (std::size_t a = 0; a < hosts_; ++a) {
    for (std::size_t b = a + 1; b < hosts_; ++b) {
      if (groups[a] == groups[b] && between(a, b) > near) return std::pair(a, b);
    }
  }
  return std::nullopt;
}

}  // namespace alm::meeting

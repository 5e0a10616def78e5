#include "clocks/idle_times.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace alm::clocks {

IdleTimes idle_times(std::span<const base::Nanos> short_trips,
                     std::span<const base::Nanos> full_trips, double share_of_answers) {
  IdleTimes times;
  bool all = true;
  std::vector<base::Nanos> longer;
  for (std::size_t host = 1; host < short_trips.size(); ++host) {
    const base::Nanos without = short_trips[host], with = full_trips[host];
    if (without == 0 || with == 0) {
      all = false;
      continue;
    }
    const auto more = static_cast<double>(std::max<base::Nanos>(0, with - without));
    times.round_trip =
        std::max<base::Nanos>(times.round_trip, with - std::llround(more * share_of_answers));
    if (with > without) longer.push_back(std::llround(more * (1 - share_of_answers)));
  }
  if (!all) times.round_trip = 0;
  // A frame passes two links at least, and each holds it until all of it has come.
  times.frame = middle_time(std::move(longer)) / 2;
  return times;
}

base::Nanos middle_time(std::vector<base::Nanos> times) {
  std::erase_if(times, [](base::Nanos time) { return time <= 0; });
  if (times.empty()) return 0;
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

}  // namespace alm::clocks

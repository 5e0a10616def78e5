#include "clocks/idle_times.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

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
  std::sort(longer.begin(), longer.end());
  if (!longer.empty()) times.frame = longer[longer.size() / 2] / 2;
  return times;
}

}  // namespace alm::clocks

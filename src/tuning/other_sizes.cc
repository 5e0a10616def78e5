#include "tuning/other_sizes.h"

#include <algorithm>

#include "tuning/trial_rules.h"

namespace alm::tuning {

using Rules = TrialRules;

base::Nanos stall_of(std::uint64_t blocks, std::uint64_t bytes, double time_scale) {
  constexpr std::uint64_t kSegment = 1448;  // TCP's payload in a frame of 1500 bytes
  const std::uint64_t packets = blocks * ((bytes + kSegment - 1) / kSegment);
  if (packets <= Rules::kHarmless) return 0;
  const double part = std::min(1.0, static_cast<double>(packets) / Rules::kOverflowing);
  return static_cast<base::Nanos>(part *
                                  static_cast<double>(base::slowed(Rules::kStall, time_scale)));
}

void OtherSizes::add(std::uint64_t bytes, base::Nanos time, base::Nanos best) {
  if (time <= 0) return;
  const bool larger = bytes >= bytes_;
  const bool stalled = time - best > stall_ / 3 && base::ratio(time, best) > Rules::kUnseen;
  if (larger && !stalled) safe_ = true;
  if (larger && stalled) return;  // fewer packets may fit the queues
  const double low = static_cast<double>(std::min(bytes, bytes_));
  const double distance = static_cast<double>(std::max(bytes, bytes_)) / low;
  if (nearest_ > 0 && distance >= nearest_) return;
  nearest_ = distance;
  heard_ = stalled ? Heard{Rules::kUnseen, time} : Heard{base::ratio(time, best), 0};
}

}  // namespace alm::tuning

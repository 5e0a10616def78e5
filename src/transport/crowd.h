// Whether others are in the queues, as far as this rank's own packets tell.
//
// A queue that the exchange fills by plan loses nothing. Where it overflows, others have put
// packets into it, and they got their part of the link: this rank got less than it gets alone. So a
// loss at the speed that the links allow the exchange is no sign of others, one at a much lower
// speed is. A rank is slow for a while, too, when a peer is late; so it was not crowded either if
// it had its full speed a little before.
//
// Round trips do not tell it: the window alone makes queues as long as those of two jobs on other
// networks (docs/adr/0056-loss-found-by-round-trips.md).
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "base/time.h"

namespace alm::transport {

class Crowd {
 public:
  // `alone`: from one packet of a rank to the next, where the links carry nothing else; 0: not
  // known, and every loss counts as one by others. `cycle`: packets between two turns of a partner.
  void begin(base::Nanos alone, std::uint64_t cycle) {
    alone_ = alone;
    cycle_ = cycle;
  }
  void sent() { ++since_calm_; }
  // A window of less than `busy` packets slows the rank down by itself.
  void measured(base::Nanos spacing, std::uint32_t window, std::uint32_t busy) {
    const base::Nanos most = (kPart + kMore) * alone_;
    if (kPart * spacing <= most) since_calm_ = 0;
    slow_ = kPart * spacing * static_cast<base::Nanos>(std::min(window, busy)) >
            most * static_cast<base::Nanos>(busy);
  }
  bool crowded() const { return alone_ == 0 || (slow_ && since_calm_ > kCycles * cycle_); }

 private:
  // Three tenths slower than alone. With 1 % of accidental losses ranks were at most 1.23 times
  // slower (99 of 100 losses); beside a second job or a TCP flow per uplink 1.5 to 2.3 times.
  static constexpr base::Nanos kPart = 10, kMore = 3;
  static constexpr std::uint64_t kCycles = 4;
  base::Nanos alone_ = 0;
  bool slow_ = true;
  std::uint64_t cycle_ = 1;
  // Packets sent since this rank was seen to have its full speed.
  std::uint64_t since_calm_ = std::numeric_limits<std::uint64_t>::max() / 2;
};

}  // namespace alm::transport

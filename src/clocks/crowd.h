// Whether others use the queues, judged by this rank's own packets.
//
// A queue that the exchange fills by plan loses nothing. If it overflows because others have put
// packets into it, they also got a part of the link, and this rank was slower than alone. So a loss
// at full speed is no sign of others, but a loss at a much lower speed is. A rank is also slow for
// a while when a peer is late; so a loss shortly after full speed is no sign of others either.
//
// But a rank is slow, too, that waits for what was lost, and losses by chance would make windows
// ever smaller. Then packets are soon there: where two of the last three answers came as soon as
// they do if the exchange alone is in the queues, nobody else is
// (docs/adr/0100-losses-by-chance.md). That answers come later says nothing by itself: on some
// networks the window of one job makes queues as long as two jobs do on others
// (docs/adr/0056-loss-found-by-round-trips.md).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "base/time.h"

namespace alm::clocks {

class Crowd {
 public:
  // `alone`: the time from one packet of a rank to the next if no one else uses the links; 0: not
  // known, and every loss counts as caused by others. `cycle`: packets between two turns of a
  // partner.
  void begin(base::Nanos alone, std::uint64_t cycle) {
    alone_ = alone;
    cycle_ = cycle;
  }
  void sent() { ++since_calm_; }
  // A window of less than `busy` packets makes the rank slower by itself.
  void measured(base::Nanos spacing, std::uint32_t window, std::uint32_t busy) {
    const base::Nanos most = (kPart + kMore) * alone_;
    if (kPart * spacing <= most) since_calm_ = 0;
    slow_ = kPart * spacing * static_cast<base::Nanos>(std::min(window, busy)) >
            most * static_cast<base::Nanos>(busy);
  }
  // A packet was answered at once, after so long.
  void answered(base::Nanos took) { trips_[turn_++ % trips_.size()] = took; }
  // Whether two of the last three answers took no longer than `most`.
  bool soon(base::Nanos most) const { return turn_ >= trips_.size() && middle() <= most; }
  // `own`: how long packets and their answers take at most if nobody else is there; 0: not known.
  bool crowded(base::Nanos own) const {
    if (soon((kPart + kMore) * own / kPart)) return false;
    return alone_ == 0 || (slow_ && since_calm_ > kCycles * cycle_);
  }

 private:
  // "Slow" is 1.3 times the time alone. With 1 % of accidental losses ranks were up to 1.23 times
  // slower (99 of 100 losses), beside a second job or a TCP flow per uplink 1.5 to 2.3 times.
  static constexpr base::Nanos kPart = 10, kMore = 3;
  static constexpr std::uint64_t kCycles = 4;

  base::Nanos middle() const {
    const auto [a, b, c] = trips_;
    return std::max(std::min(a, b), std::min(std::max(a, b), c));
  }

  base::Nanos alone_ = 0;
  bool slow_ = true;
  std::uint64_t cycle_ = 1;
  std::array<base::Nanos, 3> trips_{};  // of the latest answers
  std::size_t turn_ = 0;
  // Packets sent since this rank last had its full speed.
  std::uint64_t since_calm_ = std::numeric_limits<std::uint64_t>::max() / 2;
};

}  // namespace alm::clocks

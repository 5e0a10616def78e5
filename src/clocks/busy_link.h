// What keeps the narrowest link between ranks busy, and what that makes of the time to the others
// and back, by what the cluster file tells.
//
// By Little's law a window of w packets, each of which takes that link t, makes the way to the
// others w t long, or as long as it is on the idle network.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"

namespace alm::clocks {

class BusyLink {
 public:
  // `each`: the time from one full packet of a rank to the next while the link is busy and nobody
  // else uses it; 0: not known. `latency`: of a full packet on the idle network.
  BusyLink(base::Nanos each, base::Nanos latency) : each_(each), latency_(latency) {}

  // An exchange begins whose packets take so much of the time of full ones. Returns what it is from
  // one of them to the next, if nobody else uses the link.
  base::Nanos begin(double part) {
    part_ = part;
    return alone();
  }
  bool known() const { return each_ > 0; }
  // The window that keeps the link busy without a queue; at most `full`.
  std::uint32_t busy_window(std::uint32_t full) const { return holds(latency_, 1, full); }
  // .. and half as much, for ranks that are late. A rank whose only packet under way is lost
  // stands still, and so do those that wait for it.
  std::uint32_t safe_window(std::uint32_t full) const {
    return holds(latency_ + latency_ / 2, kWindowLeast, full);
  }
  // How long a packet and its answer take if nobody else is in the queues, and all ranks have
  // windows of so many packets; 0: not known.
  base::Nanos own_round_trip(std::uint32_t full) const {
    return known() ? std::max(2 * latency_, static_cast<base::Nanos>(full) * alone()) : 0;
  }

 private:
  static constexpr base::Nanos kWindowLeast = 2;

  base::Nanos alone() const { return static_cast<base::Nanos>(static_cast<double>(each_) * part_); }

  std::uint32_t holds(base::Nanos way, base::Nanos least, std::uint32_t full) const {
    if (!known()) return full;
    const base::Nanos packets = std::max(least, (way + each_ - 1) / each_);
    return static_cast<std::uint32_t>(std::min<base::Nanos>(packets, full));
  }

  base::Nanos each_, latency_;
  double part_ = 1;
};

}  // namespace alm::clocks

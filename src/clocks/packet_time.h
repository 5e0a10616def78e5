// What one full frame takes on the host link, where no cluster file says it.
//
// An exchange takes at least its packets' time on the host link, and most of what makes it longer
// (ranks that enter late, losses, processors that are busy) comes and goes. So the time of an
// exchange, divided by its packets, is an upper bound, which is taken at once where it is lower;
// where it is higher, the estimate follows by an eighth of the difference, and of twice the
// estimate at most. Where an uplink holds all exchanges up, its share is found, and that is
// what timers need.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"

namespace alm::clocks {

class PacketTime {
 public:
  // `known`: `first` is from the cluster file, and stays. Otherwise it holds until an exchange has
  // been measured.
  PacketTime(base::Nanos first, bool known) : time_(first), given_(known), known_(known) {}

  // An exchange took so long for so many packets, of which one takes `part` of a full frame's time.
  void exchanged(base::Nanos took, std::uint64_t packets, double part) {
    if (given_ || packets < kPacketsLeast || part < kPartLeast) return;
    const double each = static_cast<double>(took) / static_cast<double>(packets) / part;
    const auto sample = std::max<base::Nanos>(1, static_cast<base::Nanos>(each));
    if (!known_ || sample < time_) {
      time_ = sample;
    } else {
      time_ += (std::min(sample, 2 * time_) - time_) / kFollow;
    }
    known_ = true;
  }
  bool given() const { return given_; }
  bool known() const { return known_; }
  base::Nanos of_full_frame() const { return time_; }

 private:
  // Shorter exchanges are made of round trips, and small frames of what hosts need for each.
  static constexpr std::uint64_t kPacketsLeast = 64;
  static constexpr double kPartLeast = 0.5;
  static constexpr base::Nanos kFollow = 8;

  base::Nanos time_;
  bool given_, known_;
};

}  // namespace alm::clocks

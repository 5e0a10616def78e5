// What calls that took far longer than usual have cost: they waited for time-outs, or for a rank
// that came late.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"
#include "tuning/trial_rules.h"

namespace alm::tuning {

class Stalls {
 public:
  // Whether a call that takes `usual` has stalled if it took `time`. `stall`: how long calls may
  // wait for time-outs; 0: they do not.
  static bool is_stall(base::Nanos time, base::Nanos usual, base::Nanos stall) {
    return stall > 0 && time - usual >= TrialRules::shortest_stall(stall) &&
           base::ratio(time, usual) > TrialRules::kAside;
  }

  void note(base::Nanos time, base::Nanos usual, base::Nanos stall) {
    ++calls_;
    if (!is_stall(time, usual, stall)) return;
    cost_ += time - usual;
    longest_ = std::max(longest_, time - usual);
  }
  std::uint64_t calls() const { return calls_; }
  base::Nanos cost() const { return cost_; }
  // Without the longest: one may be a rank that came late.
  base::Nanos repeated() const { return cost_ - longest_; }

 private:
  std::uint64_t calls_ = 0;
  base::Nanos cost_ = 0;
  base::Nanos longest_ = 0;
};

}  // namespace alm::tuning

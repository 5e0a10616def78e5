// Whether the chosen way takes as long as when it was chosen. Its calls are smoothed on each rank,
// and from time to time the ranks compare.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/time.h"
#include "tuning/trial_rules.h"

namespace alm::tuning {

class Drift {
 public:
  // A way has been chosen, after so many calls in total. Longer calls than its usual ones by far
  // count as so long (TrialRules::kSpike). `stall`: how long a call of it may wait for time-outs;
  // 0: it will not. If it may, the ranks compare early and often.
  void begin(std::uint64_t calls, base::Nanos stall = 0) {
    decided_at_ = calls;
    stall_ = stall;
    look_ = first_look();
    forget();
  }
  // An earlier job has chosen the way: the ranks compare early, and no long call is cut.
  void adopt() {
    adopted_ = true;
    look_ = TrialRules::kFirstLookAdopted;
  }
  // The ranks compare; whether it is the first time after adopt().
  bool compares_adopted() { return std::exchange(adopted_, false); }
  // What was adopted holds so far.
  void keep_adopted() { look_ = first_look(); }
  // It seems not to hold, which first calls alone may explain.
  void look_soon() { look_ = TrialRules::kSecondLookAdopted; }
  void expect(base::Nanos time) { usual_ = std::max<base::Nanos>(time, 1); }
  // The way is another one than before, or all is tried anew.
  void forgive() { stalls_ = 0; }
  void took(base::Nanos time) {
    if (is_early()) {
      time = std::min(time, usual_ + TrialRules::shortest_stall(stall_));
      recent_ += (time - recent_) / ++early_calls_;
      return;
    }
    if (!adopted_) time = std::min(time, TrialRules::kSpike * usual_);
    recent_ = recent_ == 0 ? time : recent_ + (time - recent_) / TrialRules::kSmoothing;
  }

  // Smoothed, since the decision; 0: nothing new. Of the early calls of a way that may stall the
  // mean since the last look, each stall as the shortest one.
  base::Nanos recent() const { return recent_; }
  // It has been said once; what it is held against may be another run's time next.
  void forget() {
    recent_ = 0;
    early_calls_ = 0;
  }
  // The early calls just looked at took `recent` in the mean: whether the way has stalled twice
  // since it was chosen. Once a rank may have come late.
  bool stalls(base::Nanos recent) {
    if (!is_early()) return false;
    const base::Nanos stall = TrialRules::shortest_stall(stall_);
    stalls_ += (TrialRules::kLookStalling * (recent - usual_) + stall / 2) / stall;
    return stalls_ >= TrialRules::kStalls;
  }

  // Whether so many calls have been made since the decision that the smoothed time counts.
  bool counts(std::uint64_t calls) const { return calls - decided_at_ >= TrialRules::kSettling; }

  bool to_look(std::uint64_t calls) const { return calls - decided_at_ >= look_; }
  void looked(std::uint64_t calls) {
    if (is_early()) forget();  // what came last must show by itself
    while (to_look(calls)) {
      look_ = is_early() ? look_ + TrialRules::kLookStalling : look_ * TrialRules::kLookGrowth;
    }
  }
  // Whether a way that took `before` takes much longer now.
  static bool is_drift(base::Nanos now, base::Nanos before) {
    return now > 0 && base::ratio(now, before) > TrialRules::kDrift;
  }

 private:
  std::uint64_t first_look() const {
    return stall_ > 0 ? TrialRules::kLookStalling : TrialRules::kFirstLook;
  }
  bool is_early() const { return !adopted_ && stall_ > 0 && look_ < TrialRules::kFirstLook; }

  base::Nanos usual_ = 1;  // what the way took when it was chosen
  base::Nanos stall_ = 0;
  base::Nanos stalls_ = 0;       // in the early calls
  base::Nanos early_calls_ = 0;  // since the last look
  std::uint64_t decided_at_ = 0;
  std::uint64_t look_ = 0;  // calls after the decision until the ranks compare again
  base::Nanos recent_ = 0;
  bool adopted_ = false;  // an earlier job has decided, and the ranks have not compared since
};

}  // namespace alm::tuning

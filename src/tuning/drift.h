// Whether the chosen way takes as long as when it was chosen. Its calls are smoothed on each rank,
// and from time to time the ranks compare.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/time.h"
#include "tuning/stalls.h"
#include "tuning/trial_rules.h"

namespace alm::tuning {

class Drift {
 public:
  // A way has been chosen, after so many calls in total. Longer calls than its usual ones by far
  // count as so long (TrialRules::kSpike). `stall`: how long a call of it may wait for time-outs;
  // 0: it will not. If it may, the ranks compare often while it is new.
  void begin(std::uint64_t calls, base::Nanos stall = 0) {
    decided_at_ = calls;
    stall_ = stall;
    look_ = first_look();
    recent_ = 0;
  }
  // An earlier job has chosen the way: the ranks compare early, and no long call is cut.
  void adopt(std::uint64_t calls, base::Nanos stall = 0) {
    begin(calls, stall);
    adopted_ = true;
    look_ = TrialRules::kFirstLookAdopted;
  }
  // The ranks compare; whether it is the first time after adopt().
  bool compares_adopted() { return std::exchange(adopted_, false); }
  // What was adopted holds so far.
  void keep_adopted() { look_ = first_look(); }
  // It seems not to hold, which first calls alone may explain.
  void look_soon() {
    look_ = TrialRules::kSecondLookAdopted;
    seems_drifted_ = true;
  }
  // Calls of the chosen way take `time`. `anew`: it is not the way that was chosen before.
  void expect(base::Nanos time, bool anew) {
    usual_ = std::max<base::Nanos>(time, 1);
    if (anew) stalls_ = Stalls();
  }
  void took(base::Nanos time) {
    if (is_new()) stalls_.note(time, usual_, stall_);
    if (!adopted_) time = std::min(time, TrialRules::kSpike * usual_);
    recent_ = recent_ == 0 ? time : recent_ + (time - recent_) / TrialRules::kSmoothing;
  }

  // Smoothed, since the decision; 0: nothing new.
  base::Nanos recent() const { return recent_; }
  // It has been said once; what it is held against may be another run's time next.
  void forget() { recent_ = 0; }
  // Stalls of the way on this rank while it was new.
  const Stalls& stalls() const { return stalls_; }
  // Whether so many calls have been made since the decision that the smoothed time counts.
  bool counts(std::uint64_t calls) const { return calls - decided_at_ >= TrialRules::kSettling; }

  bool to_look(std::uint64_t calls) const { return calls - decided_at_ >= look_; }
  // Whether this look is for stalls alone: there are too few calls to smooth.
  bool looks_for_stalls() {
    return !std::exchange(seems_drifted_, false) && look_ < TrialRules::kFirstLook;
  }
  void looked(std::uint64_t calls) {
    while (to_look(calls)) {
      if (look_ >= TrialRules::kFirstLook) {
        look_ *= TrialRules::kLookGrowth;
      } else {
        look_ = is_new() ? look_ + TrialRules::kLookStalling : TrialRules::kFirstLook;
      }
    }
  }
  // Whether a way that took `before` takes much longer now.
  static bool is_drift(base::Nanos now, base::Nanos before) {
    return now > 0 && base::ratio(now, before) > TrialRules::kDrift;
  }

 private:
  std::uint64_t first_look() const {
    return is_new() ? TrialRules::kLookStalling : TrialRules::kFirstLook;
  }
  // Whether the way may stall, and was chosen a few calls ago.
  bool is_new() const {
    return stalls_.calls() < TrialRules::kFirstLook &&
           Stalls::is_stall(usual_ + stall_, usual_, stall_);
  }

  base::Nanos usual_ = 1;  // what the way took when it was chosen
  base::Nanos stall_ = 0;
  Stalls stalls_;
  std::uint64_t decided_at_ = 0;
  std::uint64_t look_ = 0;  // calls after the decision until the ranks compare again
  base::Nanos recent_ = 0;
  bool adopted_ = false;  // an earlier job has decided, and the ranks have not compared since
  bool seems_drifted_ = false;
};

}  // namespace alm::tuning

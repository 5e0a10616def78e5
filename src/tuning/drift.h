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
  // count as so long (TrialRules::kSpike).
  void begin(std::uint64_t calls) {
    decided_at_ = calls;
    look_ = TrialRules::kFirstLook;
    recent_ = 0;
  }
  // An earlier job has chosen the way: the ranks compare early, and no long call is cut.
  void adopt() {
    adopted_ = true;
    look_ = TrialRules::kFirstLookAdopted;
  }
  // The ranks compare; whether it is the first time after adopt().
  bool compares_adopted() { return std::exchange(adopted_, false); }
  // What was adopted holds so far.
  void keep_adopted() { look_ = TrialRules::kFirstLook; }
  // It seems not to hold, which first calls alone may explain.
  void look_soon() { look_ = TrialRules::kSecondLookAdopted; }
  void expect(base::Nanos time) { spike_ = TrialRules::kSpike * std::max<base::Nanos>(time, 1); }
  void took(base::Nanos time) {
    if (!adopted_) time = std::min(time, spike_);
    recent_ = recent_ == 0 ? time : recent_ + (time - recent_) / TrialRules::kSmoothing;
  }

  // Smoothed, since the decision; 0: nothing new.
  base::Nanos recent() const { return recent_; }
  // It has been said once; what it is held against may be another run's time next.
  void forget() { recent_ = 0; }
  // Whether so many calls have been made since the decision that the smoothed time counts.
  bool counts(std::uint64_t calls) const { return calls - decided_at_ >= TrialRules::kSettling; }

  bool to_look(std::uint64_t calls) const { return calls - decided_at_ >= look_; }
  void looked(std::uint64_t calls) {
    while (to_look(calls)) look_ *= TrialRules::kLookGrowth;
  }
  // Whether a way that took `before` takes much longer now.
  static bool is_drift(base::Nanos now, base::Nanos before) {
    return now > 0 && base::ratio(now, before) > TrialRules::kDrift;
  }

 private:
  base::Nanos spike_ = 0;
  std::uint64_t decided_at_ = 0;
  std::uint64_t look_ = 0;  // calls after the decision until the ranks compare again
  base::Nanos recent_ = 0;
  bool adopted_ = false;  // an earlier job has decided, and the ranks have not compared since
};

}  // namespace alm::tuning

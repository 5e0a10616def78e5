// What trying has cost and what it may cost (trial.h), in units of a call of the best way; and when
// the way that waits can be afforded.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/time.h"
#include "tuning/trial_rules.h"

namespace alm::tuning {

class Budget {
 public:
  // The latest agreement took `time` on this rank.
  void agreed(base::Nanos time) { agreeing_ = time; }
  base::Nanos agreeing() const { return agreeing_; }
  // The ranks have agreed on what the one before took.
  void count_agreement(base::Nanos time) {
    agreement_ = time;
    agreements_ += time;
  }
  // A trial begins anew; the one before has cost so much by its calls.
  void carry(double spent_by_calls) { before_ += spent_by_calls; }

  // What one more agreement costs: the latest is taken to be like the one before.
  double agreement(base::Nanos best) const { return base::ratio(agreement_, best); }
  double spent(double by_calls, base::Nanos best) const {
    return before_ + by_calls + base::ratio(agreements_, best) + agreement(best);
  }
  // What is left of the budget of so many calls.
  static double left(std::uint64_t calls, double spent) {
    return std::max(0.0, TrialRules::kBudget * static_cast<double>(calls) - spent);
  }

  // The next sighting waits until so much can be afforded; 0: none waits.
  void postpone(double cost) { postponed_ = cost; }
  bool postponed() const { return postponed_ > 0; }
  // Reckons when its turn comes, no later than after `most` calls.
  void await_turn(double spent, std::uint64_t most) {
    turn_ = static_cast<std::uint64_t>(std::ceil((spent + postponed_) / TrialRules::kBudget)) + 1;
    turn_ = std::min(turn_, most);
  }
  bool turn_has_come(std::uint64_t calls) const { return postponed() && calls >= turn_; }

 private:
  double before_ = 0;
  base::Nanos agreeing_ = 0;    // the last agreement, on this rank
  base::Nanos agreement_ = 0;   // the same as agreed on
  base::Nanos agreements_ = 0;  // sum of the agreements but the last
  double postponed_ = 0;
  std::uint64_t turn_ = 0;  // calls at which a postponed way can be afforded
};

}  // namespace alm::tuning

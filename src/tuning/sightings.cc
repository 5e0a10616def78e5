#include "tuning/sightings.h"

#include <numeric>

#include "tuning/trial_rules.h"

namespace alm::tuning {

using Rules = TrialRules;
using base::ratio;

base::Nanos Sightings::time_by(std::vector<base::Nanos> seen) {
  if (seen.size() == 1) return seen.front();
  std::sort(seen.begin(), seen.end());
  const std::size_t one_of = seen.front() < Rules::kShort ? Rules::kShortLeftOut : Rules::kLeftOut;
  seen.resize(seen.size() - (seen.size() + one_of - 1) / one_of);
  return std::accumulate(seen.begin(), seen.end(), base::Nanos{0}) /
         static_cast<base::Nanos>(seen.size());
}

void Sightings::add(base::Nanos time, bool begins) {
  const bool replaces = unpaid_ && seen_.size() == 1;
  if (begins || replaces) begin_ = static_cast<std::ptrdiff_t>(seen_.size());
  seen_.push_back(time);
}

void Sightings::add_lead(base::Nanos time) {
  if (seen_.empty() && first_ == 0) {
    first_ = time;
    started_ = true;
  } else {
    ++leads_;
  }
}

void Sightings::reopen() {
  known_ = time();
  seen_.clear();
  begin_ = 0;
  started_ = unpaid_ = false;
  leads_ = 0;
}

void Sightings::charge(base::Nanos best, double* spent) const {
  if (seen_.empty()) return;
  const auto beyond = [&](base::Nanos time) { return std::max(0.0, ratio(time, best) - 1); };
  if (!unpaid_) *spent += beyond(seen_.front());
  *spent += static_cast<double>(seen_.size() - 1 + leads_) * beyond(time());
}

}  // namespace alm::tuning

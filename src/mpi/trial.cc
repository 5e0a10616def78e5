#include "mpi/trial.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

namespace alm::mpi {
namespace {

// Clearly behind: so many times as long as the best, after two sightings, and three or more. On
// busy hosts one call may take any time, because a process was woken late.
constexpr std::array<double, 2> kBehind = {1.5, 1.25};
constexpr std::size_t kLibrarys = 1;  // the library's own way
// The way preferred is kept unless another takes less than this part of its time.
constexpr double kClearly = 0.97;
// After a decision the ranks compare at calls 64, 256, 1024, ...
constexpr std::uint64_t kFirstLook = 64;
constexpr std::uint64_t kLookGrowth = 4;
constexpr double kDrift = 1.5;
// What takes less than this part of the least the links allow has other links than was said.
constexpr double kImpossible = 0.95;
constexpr base::Nanos kSmoothing = 8;

double ratio(base::Nanos time, base::Nanos to) {
  return static_cast<double>(time) / static_cast<double>(std::max<base::Nanos>(to, 1));
}

}  // namespace

Trial::Trial(const std::vector<Kin>& ways, base::Nanos limit) : limit_(limit) {
  assert(!ways.empty());
  for (const Kin kin : ways) {
    ways_.emplace_back();
    ways_.back().kin = kin;
  }
  if (ways_.size() == 1) {
    decide(0);
  } else if (limit > 0) {
    batch_ = {0};
  } else {
    batch_ = {0, 1};
  }
}

void Trial::set_limit(base::Nanos limit) {
  if (limit_ > 0 || limit <= 0) return;
  limit_ = limit;
  if (!decided() && calls_ <= 1) batch_ = {0};
}

base::Nanos Trial::time(std::size_t way) const {
  const auto& seen = ways_[way].seen;
  if (seen.empty()) return ways_[way].known;
  if (seen.size() == 1) return seen.front();
  const auto sum = std::accumulate(seen.begin(), seen.end(), base::Nanos{0});
  return (sum - *std::max_element(seen.begin(), seen.end())) /
         static_cast<base::Nanos>(seen.size() - 1);
}

// Of the ways seen in this trial.
base::Nanos Trial::least() const {
  base::Nanos least = std::numeric_limits<base::Nanos>::max();
  for (std::size_t way = 0; way < ways_.size(); ++way) {
    if (!ways_[way].seen.empty()) least = std::min(least, time(way));
  }
  return least;
}

// The best way takes so many times what the links need, or less.
bool Trial::within(double factor) const {
  const double longer = ratio(least(), limit_);
  return limit_ > 0 && longer >= kImpossible && longer <= factor;
}

bool Trial::at_limit() const { return within(kAtLimit); }

// Calls that trying may count on.
std::uint64_t Trial::taken_as_made() const {
  if (!within(kNearLimit)) return std::max(calls_, kHorizon);
  return std::max(calls_, std::min(kHorizon, static_cast<std::uint64_t>(kSpan / least())));
}

void Trial::took(base::Nanos time) {
  if (++calls_ == 1) return;
  if (!batch_.empty()) {
    times_.push_back(time);
    due_ = times_.size() == batch_.size();
    return;
  }
  recent_ = recent_ == 0 ? time : recent_ + (time - recent_) / kSmoothing;
  const bool look = calls_ - decided_at_ >= look_ && ways_.size() > 1;
  if (!look && !(postponed_ && calls_ >= turn_)) return;
  times_ = {recent_};
  due_ = true;
}

void Trial::agree(const std::vector<base::Nanos>& slowest) {
  assert(slowest.size() == times_.size());
  due_ = false;
  times_.clear();
  if (!batch_.empty()) {
    count(slowest);
    drop();
    plan();
    return;
  }
  while (look_ <= calls_ - decided_at_) look_ *= kLookGrowth;
  if (ratio(slowest[0], time(chosen_)) > kDrift) {
    reopen(slowest[0]);
  } else if (postponed_ && calls_ >= turn_) {
    plan();
  }
}

void Trial::adopt(std::size_t way, const std::vector<base::Nanos>& times) {
  assert(times.size() == ways_.size());
  for (std::size_t i = 0; i < ways_.size(); ++i) ways_[i].known = times[i];
  batch_.clear();
  decide(0);
  chosen_ = way;
}

void Trial::rule_out(std::size_t way) {
  ways_[way].out = true;
  ways_[way].known = 0;
  if (decided()) {
    if (chosen_ == way) chosen_ = 0;
    return decide(0);
  }
  plan();
}

bool Trial::to_warm(std::size_t way) const {
  return way == kLibrarys && ways_[way].kin == Kin::kLibrary && ways_[way].first == 0;
}

void Trial::count(const std::vector<base::Nanos>& slowest) {
  for (std::size_t i = 0; i < batch_.size(); ++i) {
    const base::Nanos time = std::max<base::Nanos>(slowest[i], 1);
    Candidate& candidate = ways_[batch_[i]];
    if (to_warm(batch_[i])) {
      candidate.first = time;
    } else {
      candidate.seen.push_back(time);
    }
    ++candidate.calls;
  }
}

double Trial::spent() const {
  double spent = spent_before_;
  for (std::size_t way = 0; way < ways_.size(); ++way) {
    // A first call counts as what it would have taken later: starting up is no part of trying.
    if (const auto calls = ways_[way].calls; calls > 0) {
      spent += static_cast<double>(calls) * expected(way);
    }
  }
  return spent;
}

void Trial::drop() {
  const base::Nanos best = least();
  for (std::size_t way = 0; way < ways_.size(); ++way) {
    Candidate& candidate = ways_[way];
    const std::size_t seen = candidate.seen.size();
    if (seen < 2) continue;
    const double limit = kBehind[std::min(seen - 2, kBehind.size() - 1)];
    candidate.out = candidate.out || ratio(time(way), best) > limit;
  }
}

// What one more call of the way costs beyond the best one's, in calls of the best.
double Trial::expected(std::size_t way) const {
  const base::Nanos best = least();
  if (time(way) != 0) return std::max(0.0, ratio(time(way), best) - 1);
  if (ways_[way].first != 0) {
    return std::max(0.0, ratio(ways_[way].first, best) / kWarming - 1);
  }
  double slowest = kUnseen;
  for (std::size_t other = 0; other < ways_.size(); ++other) {
    if (ways_[other].kin == ways_[way].kin) slowest = std::max(slowest, ratio(time(other), best));
  }
  return slowest - 1;
}

bool Trial::again(const Candidate& candidate) const {
  return !candidate.out && candidate.seen.size() < kSightings;
}

bool Trial::aside(std::size_t way) const {
  return ways_[way].seen.size() == 1 && ratio(time(way), least()) > kAside;
}

// One more sighting of each of those seen least often, or the first of one.
void Trial::plan() {
  batch_.clear();
  const auto contenders =
      std::count_if(ways_.begin(), ways_.end(), [](const Candidate& one) { return !one.out; });
  if (contenders <= 1 || at_limit()) return decide(0);
  // What costs nothing can always be afforded.
  const auto paid_by = [this](std::uint64_t calls) {
    return std::max(0.0, kBudget * static_cast<double>(calls) - spent());
  };
  const double to_come = paid_by(taken_as_made());
  const double made = paid_by(calls_);
  const auto allowed = [&](std::size_t way) { return aside(way) ? made : to_come; };
  std::size_t fewest = kSightings;
  double cheapest = 0;  // of those that cannot be afforded now
  for (std::size_t way = 0; way < ways_.size(); ++way) {
    if (!again(ways_[way])) continue;
    const double cost = expected(way);
    if (cost <= allowed(way)) {
      fewest = std::min(fewest, ways_[way].seen.size());
    } else {
      cheapest = cheapest == 0 ? cost : std::min(cheapest, cost);
    }
  }
  double planned = 0;
  for (std::size_t way = 0; way < ways_.size() && fewest < kSightings; ++way) {
    if (!again(ways_[way]) || ways_[way].seen.size() != fewest) continue;
    const double cost = expected(way);
    if (planned + cost > allowed(way)) continue;
    planned += cost;
    batch_.push_back(way);
    if (fewest == 0) break;
  }
  if (batch_.empty()) decide(cheapest);
}

// `postponed_cost`: of the next sighting that waits for its turn; 0: nothing waits.
void Trial::decide(double postponed_cost) {
  std::optional<std::size_t> best;
  for (std::size_t way = 0; way < ways_.size(); ++way) {
    if (ways_[way].seen.empty() || ways_[way].out) continue;
    if (!best || ratio(time(way), time(*best)) < kClearly) best = way;
  }
  chosen_ = best.value_or(chosen_);
  postponed_ = postponed_cost > 0;
  turn_ = static_cast<std::uint64_t>(std::ceil((spent() + postponed_cost) / kBudget)) + 1;
  decided_at_ = calls_;
  look_ = kFirstLook;
  recent_ = 0;
}

void Trial::reopen(base::Nanos now) {
  spent_before_ = spent();
  for (std::size_t way = 0; way < ways_.size(); ++way) {
    ways_[way].known = time(way);
    ways_[way].seen.clear();
    ways_[way].calls = 0;
    ways_[way].out = false;
  }
  ways_[chosen_].seen = {now};
  ++reopened_;
  plan();
}

}  // namespace alm::mpi

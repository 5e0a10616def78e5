#include "tuning/trial.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "tuning/trial_rules.h"

namespace alm::tuning {
namespace {

using Rules = TrialRules;
using base::ratio;

// The time of a way: the mean of its sightings without the slowest.
base::Nanos known_by(std::vector<base::Nanos> seen) {
  if (seen.size() == 1) return seen.front();
  std::sort(seen.begin(), seen.end());
  const std::size_t one_of = seen.front() < Rules::kShort ? Rules::kShortLeftOut : Rules::kLeftOut;
  seen.resize(seen.size() - (seen.size() + one_of - 1) / one_of);
  return std::accumulate(seen.begin(), seen.end(), base::Nanos{0}) /
         static_cast<base::Nanos>(seen.size());
}

}  // namespace

Trial::Trial(const std::vector<Transport>& ways, base::Nanos limit, double time_scale)
    : librarys_(Rules::kLibrarys), limit_(limit), span_(base::slowed(Rules::kSpan, time_scale)) {
  assert(!ways.empty());
  for (const Transport transport : ways) {
    ways_.emplace_back();
    ways_.back().transport = transport;
  }
  begin();
}

// Where nothing is known of what calls take, the second way is seen before the ranks agree.
void Trial::begin() {
  std::vector<std::size_t> open;
  for (std::size_t way = 0; way < ways_.size(); ++way) {
    if (!ways_[way].out) open.push_back(way);
  }
  batch_.clear();
  if (!open.empty()) chosen_ = first_ = open.front();
  if (open.size() <= 1) return decide(0);
  batch_ = {{first_, true}};
  if (limit_ <= 0 && !has_predictions()) add(open[1]);
}

void Trial::set_limit(base::Nanos limit) {
  if (limit_ > 0 || limit <= 0) return;
  limit_ = limit;
  if (!decided() && calls_ <= 1) batch_ = {{0, true}};
}

base::Nanos Trial::time(std::size_t way) const {
  if (ways_[way].seen.empty()) return ways_[way].known;
  const Candidate& candidate = ways_[way];
  return known_by({candidate.seen.begin() + candidate.run_begin, candidate.seen.end()});
}

// The fastest way seen in this trial. Precondition: one has been seen. Ways that are out do not
// count: their times are old, while those of others follow what the hosts do.
std::size_t Trial::fastest() const {
  const auto better = [this](std::size_t way, std::size_t than) {
    if (ways_[way].seen.empty()) return false;
    if (ways_[than].seen.empty()) return true;
    if (ways_[way].out != ways_[than].out) return ways_[than].out;
    return time(way) < time(than);
  };
  std::size_t fastest = 0;
  for (std::size_t way = 1; way < ways_.size(); ++way) {
    if (better(way, fastest)) fastest = way;
  }
  return fastest;
}

base::Nanos Trial::least() const {
  const std::size_t way = fastest();
  return ways_[way].seen.empty() ? std::numeric_limits<base::Nanos>::max() : time(way);
}

// Whether the best way takes at most `factor` times what the links need.
bool Trial::within(double factor) const {
  const double longer = ratio(least(), limit_);
  return limit_ > 0 && longer >= Rules::kImpossible && longer <= factor;
}

bool Trial::librarys_seen() const {
  return librarys_ >= ways_.size() || !ways_[librarys_].seen.empty() || ways_[librarys_].out;
}

bool Trial::refutes_limit() const {
  return limit_ > 0 && ways_seen() > 0 && ratio(least(), limit_) < Rules::kRefuted;
}

// A short call may seem so because its ranks came to it at different times, or not because it is
// cold: it is seen again before any other way is.
bool Trial::at_limit() const {
  if (keep_to_rates_ && !librarys_seen()) return false;
  return within(Rules::kAtLimit) && (!is_short() || seen_often(fastest()));
}

bool Trial::seen_often(std::size_t way) const { return ways_[way].seen.size() >= Rules::kOneByOne; }

// The number of calls on which the budget of trying rests.
std::uint64_t Trial::taken_as_made() const {
  const std::uint64_t horizon = trusts() ? Rules::kTrustedHorizon : Rules::kHorizon;
  if (!within(Rules::kNearLimit)) return std::max(calls_, horizon);
  return std::max(calls_, std::min(horizon, static_cast<std::uint64_t>(span_ / least())));
}

void Trial::took(base::Nanos time) {
  if (++calls_ == 1) {
    ways_[chosen_].started = !decided();
    ways_[chosen_].began = true;
    return;
  }
  if (!batch_.empty()) {
    times_.push_back(time);
    if (times_.size() == batch_.size()) come_to_agree();
    return;
  }
  if (!adopted_) time = std::min(time, spike_);
  recent_ = recent_ == 0 ? time : recent_ + (time - recent_) / Rules::kSmoothing;
  if (calls_ - decided_at_ >= look_ && ways_.size() > 1) {
    come_to_agree();
  } else if (turn_has_come()) {
    plan();  // all ranks make the same
  }
}

void Trial::come_to_agree() {
  times_.push_back(recent_);
  times_.push_back(-agreeing_);
  due_ = true;
}

void Trial::agree(const std::vector<base::Nanos>& slowest) {
  assert(slowest.size() == times_.size());
  agreement_ = -slowest.back();
  agreements_ += agreement_;
  const base::Nanos recent = slowest[slowest.size() - 2];
  const double drift = recent > 0 ? ratio(recent, time(chosen_)) : 0;
  const bool drifted = drift > Rules::kDrift;
  const bool adopted = std::exchange(adopted_, false);
  due_ = false;
  times_.clear();
  if (doubted_) return confirm(slowest);
  if (!batch_.empty()) {
    recent_ = 0;  // said once; what it is held against may be another run's time next
    if (calls_ - batch_.size() - decided_at_ >= Rules::kSettling) follow(recent);
    count(slowest);
    drop();
    return drifted ? doubt(Rules::kConfirming) : plan();
  }
  if (adopted) {
    look_ = Rules::kFirstLook;
    if (recent >= Rules::kShort && drift > Rules::kAside) return reopen(recent);
  }
  while (look_ <= calls_ - decided_at_) look_ *= Rules::kLookGrowth;
  if (drifted) return doubt(adopted ? Rules::kConfirmingAdopted : Rules::kConfirming);
  follow(recent);
  await_turn();
}

// A few calls that stall raise what is smoothed as much as hosts that have become slower. The way
// chosen is seen again before all is tried anew, which costs agreeing alone. What other ways have
// just been seen to take is not forgotten over it.
void Trial::doubt(std::ptrdiff_t calls) {
  doubted_ = true;
  batch_.assign(static_cast<std::size_t>(calls), {chosen_, true});
}

void Trial::confirm(std::span<const base::Nanos> slowest) {
  doubted_ = false;
  std::vector<base::Nanos> seen(slowest.begin(), slowest.end() - 2);
  const base::Nanos now = known_by(seen);
  if (ratio(now, time(chosen_)) > Rules::kDrift) return reopen(now);
  batch_.clear();
  recent_ = 0;
  if (turn_has_come()) return plan();
  await_turn();
}

// The way chosen has become faster since it was seen, or has been seen cold: a process's first
// calls take two or three times as long as its later ones.
void Trial::follow(base::Nanos recent) {
  Candidate& candidate = ways_[chosen_];
  if (recent <= 0 || candidate.seen.empty() || recent >= time(chosen_)) return;
  candidate.run_begin = static_cast<std::ptrdiff_t>(candidate.seen.size());
  candidate.seen.push_back(recent);
}

// The agreement just made has to be paid for first.
void Trial::await_turn() {
  turn_ = static_cast<std::uint64_t>(std::ceil((spent() + postponed_cost_) / Rules::kBudget)) + 1;
  if (trusts()) turn_ = std::min(turn_, Rules::kTrusting);
}

void Trial::adopt(std::size_t way, const std::vector<base::Nanos>& times) {
  assert(times.size() == ways_.size());
  for (std::size_t i = 0; i < ways_.size(); ++i) ways_[i].known = times[i];
  batch_.clear();
  decide(0);
  choose(way);
  adopted_ = true;
  look_ = Rules::kFirstLookAdopted;
}

void Trial::choose(std::size_t way) {
  chosen_ = way;
  spike_ = Rules::kSpike * std::max<base::Nanos>(time(way), 1);
}

void Trial::rule_out(std::size_t way) {
  ways_[way].out = true;
  ways_[way].known = 0;
  if (decided()) {
    if (chosen_ == way) chosen_ = 0;
    return decide(0);
  }
  if (calls_ == 0) return begin();
  plan();
}

void Trial::needs(std::size_t way, base::Nanos least) { ways_[way].least = least; }

bool Trial::cannot_win(std::size_t way) const {
  const base::Nanos needs = ways_[way].least;
  const bool known = limit_ > 0 && ratio(least(), limit_) >= Rules::kImpossible;
  const bool undercut = time(way) > 0 && time(way) < needs;
  return known && !undercut && way != fastest() && ratio(needs, least()) > Rules::kClearly;
}

void Trial::opens(std::size_t way, base::Nanos opening) { ways_[way].opening = opening; }

bool Trial::librarys_own(std::size_t way) const {
  return way == librarys_ && ways_[way].transport == Transport::kMpi;
}

bool Trial::to_warm(std::size_t way) const {
  const Candidate& candidate = ways_[way];
  return (librarys_own(way) || candidate.opening > 0) && candidate.first == 0 && !candidate.began;
}

bool Trial::is_short() const { return least() < Rules::kShort; }

// Sightings of the way in a row, the next time.
std::size_t Trial::run(std::size_t way) const {
  const std::size_t seen = ways_[way].seen.size();
  if (seen == 0) return 1;
  if (seen < Rules::kOneByOne) {
    return is_short() && !aside(way) && !seems_late(way) ? Rules::kOneByOne - seen : 1;
  }
  return is_short() ? std::bit_floor(seen) : std::bit_floor(seen) / 2;
}

// Calls before them, which are none.
std::size_t Trial::leads(std::size_t way) const {
  if (is_short()) return run(way);
  return to_warm(way) ? 1 : 0;
}

void Trial::add(std::size_t way) {
  batch_.insert(batch_.end(), leads(way), {way, false});
  batch_.push_back({way, true, is_short() && run(way) > 1});
  batch_.insert(batch_.end(), run(way) - 1, {way, true});
}

void Trial::count(const std::vector<base::Nanos>& slowest) {
  for (std::size_t i = 0; i < batch_.size(); ++i) {
    const base::Nanos time = std::max<base::Nanos>(slowest[i], 1);
    Candidate& candidate = ways_[batch_[i].way];
    if (batch_[i].sighting) {
      // The one that reopened the trial is smoothed: it counts only while there is no other.
      const bool replaces = candidate.unpaid && candidate.seen.size() == 1;
      if (batch_[i].begins || replaces) {
        candidate.run_begin = static_cast<std::ptrdiff_t>(candidate.seen.size());
      }
      candidate.seen.push_back(time);
    } else if (candidate.seen.empty() && candidate.first == 0) {
      candidate.first = time;
      candidate.started = true;
    } else {
      ++candidate.leads;
    }
  }
}

// The first call of a way takes longer than later ones, and counts as what it took: who tries a way
// pays for it. That of the first way and of the library's own counts as a later one, because
// without trials the program would have started one of them, too.
double Trial::spent_by_calls() const {
  const base::Nanos best = least();
  const auto beyond = [&](base::Nanos time) { return std::max(0.0, ratio(time, best) - 1); };
  double spent = spent_before_;
  for (std::size_t way = 0; way < ways_.size(); ++way) {
    const Candidate& candidate = ways_[way];
    if (candidate.started) {
      spent += way == first_ || librarys_own(way) ? expected(way) : beyond(candidate.first);
    }
    if (candidate.seen.empty()) continue;
    if (!candidate.unpaid) spent += beyond(candidate.seen.front());
    spent += static_cast<double>(candidate.seen.size() - 1 + candidate.leads) * beyond(time(way));
  }
  return spent;
}

// The latest agreement is taken to be like the one before.
double Trial::spent() const { return spent_by_calls() + ratio(agreements_, least()) + agreement(); }

double Trial::agreement() const { return ratio(agreement_, least()); }

// The best may be so by luck, as long as it has been seen a few times only.
void Trial::drop() {
  const std::size_t best = fastest();
  const std::span<const Rules::Behind> behind =
      is_short() ? std::span<const Rules::Behind>(Rules::kShortBehind) : Rules::kBehind;
  for (std::size_t way = 0; way < ways_.size(); ++way) {
    const std::size_t seen = std::min(ways_[way].seen.size(), ways_[best].seen.size());
    const auto limit = std::find_if(behind.rbegin(), behind.rend(), [&](const Rules::Behind& one) {
      return seen >= one.sightings;
    });
    if (limit == behind.rend()) continue;
    if (ratio(time(way), time(best)) > limit->times) ways_[way].out = true;
  }
}

// What one more call of the way costs beyond the best one's, in calls of the best.
double Trial::expected(std::size_t way) const {
  const base::Nanos best = least();
  const Candidate& candidate = ways_[way];
  if (seems_late(way)) return std::max(0.0, between(way) - 1);
  if (time(way) != 0) return std::max(0.0, ratio(time(way), best) - 1);
  if (librarys_own(way) && candidate.first != 0) {
    return std::max(0.0, ratio(candidate.first, best) / Rules::kWarming - 1);
  }
  if (candidate.predicted > 0 && predictions_hold()) return foreseen(way) - 1;
  double alike = std::numeric_limits<double>::infinity();
  for (std::size_t other = 0; other < ways_.size(); ++other) {
    if (ways_[other].transport != candidate.transport || time(other) == 0) continue;
    alike = std::min(alike, ratio(time(other), best));
  }
  return (std::isinf(alike) ? Rules::kUnseen : std::max(Rules::kUnseen, alike)) - 1;
}

// The cost of the way's next run, with its leads and the opening of connections.
double Trial::cost(std::size_t way) const {
  const auto calls = static_cast<double>(leads(way) + run(way));
  return calls * expected(way) + opening(way);
}

// What the first call of the way takes beyond later ones. That of the library's own is no cost of
// trials, but it is none for a program's first calls either.
double Trial::opening(std::size_t way) const {
  const Candidate& candidate = ways_[way];
  if (candidate.first != 0) return 0;
  const bool cold = trusts() && librarys_own(way) && to_warm(way);
  return ratio(candidate.opening, least()) +
         (cold ? (Rules::kWarming - 1) * (1 + expected(way)) : 0);
}

bool Trial::contends(std::size_t way) const { return !ways_[way].out && !cannot_win(way); }

bool Trial::again(std::size_t way) const {
  return contends(way) &&
         ways_[way].seen.size() < (is_short() ? Rules::kShortSightings : Rules::kSightings);
}

// A way that was seen once and took long, or has to open connections first: the calls made so far
// must pay.
bool Trial::aside(std::size_t way) const {
  if (ways_[way].opening > 0 && to_warm(way)) return true;
  if (seems_late(way)) return false;
  return ways_[way].seen.size() == 1 && ratio(time(way), least()) > Rules::kAside;
}

// Whether all contenders are about equally fast.
bool Trial::settled() const {
  const base::Nanos best = least();
  const std::size_t enough = is_short() ? 2 * Rules::kSettled : Rules::kSettled;
  for (std::size_t way = 0; way < ways_.size(); ++way) {
    if (!contends(way)) continue;
    if (ways_[way].seen.size() < enough || ratio(time(way), best) > Rules::kAsFast) return false;
  }
  return true;
}

// Plans the next batch: a run of each way that was seen least often, or the first sighting of one
// way.
void Trial::plan() {
  batch_.clear();
  std::size_t contenders = 0;
  for (std::size_t way = 0; way < ways_.size(); ++way) contenders += contends(way) ? 1 : 0;
  if (contenders <= 1 || at_limit() || settled()) return decide(0);
  if (is_short() && within(Rules::kNearLimit) && !seen_often(fastest())) return add(fastest());
  // What costs nothing, because agreeing took no time, can always be afforded.
  const auto paid_by = [this](std::uint64_t calls) {
    return std::max(0.0, Rules::kBudget * static_cast<double>(calls) - spent());
  };
  const double to_come = paid_by(taken_as_made());
  const double made = paid_by(calls_);
  const auto allowed = [&](std::size_t way) { return aside(way) ? made : to_come; };
  const bool alone = has_predictions() && ways_seen() == 1;  // to see it again tells nothing
  std::optional<std::size_t> fewest;
  double cheapest = 0;  // of those that cannot be afforded now
  for (std::size_t way = 0; way < ways_.size(); ++way) {
    if (!again(way) || (alone && !ways_[way].seen.empty())) continue;
    if (const double price = agreement() + cost(way); price > allowed(way)) {
      cheapest = cheapest == 0 ? price : std::min(cheapest, price);
    } else if (!fewest || ways_[way].seen.size() < *fewest) {
      fewest = ways_[way].seen.size();
    }
  }
  double planned = agreement();
  for (std::size_t way = 0; way < ways_.size(); ++way) {
    if (!again(way) || ways_[way].seen.size() != fewest) continue;
    if (planned + cost(way) > allowed(way)) continue;
    planned += cost(way);
    add(way);
    if (fewest == 0) break;
  }
  if (!batch_.empty()) return;
  if (surprised()) return add(fastest());
  decide(cheapest);
}

// `postponed_cost`: the cost of the next sighting that waits for its turn; 0: nothing waits.
void Trial::decide(double postponed_cost) {
  std::optional<std::size_t> best;
  for (std::size_t way = 0; way < ways_.size(); ++way) {
    if (ways_[way].seen.empty() || ways_[way].out) continue;
    if (!best || ratio(time(way), time(*best)) < Rules::kClearly) best = way;
  }
  choose(best.value_or(chosen_));
  has_decided_ = true;
  postponed_cost_ = postponed_cost;
  await_turn();
  decided_at_ = calls_;
  look_ = Rules::kFirstLook;
  recent_ = 0;
}

void Trial::reopen(base::Nanos now) {
  spent_before_ = spent_by_calls();
  for (std::size_t way = 0; way < ways_.size(); ++way) {
    ways_[way].known = time(way);
    ways_[way].seen.clear();
    ways_[way].run_begin = 0;
    ways_[way].started = ways_[way].unpaid = false;
    ways_[way].leads = 0;
    ways_[way].out = false;
  }
  ways_[chosen_].seen = {now};
  ways_[chosen_].unpaid = true;
  ways_[chosen_].opening = 0;
  recent_ = 0;
  ++reopened_;
  plan();
}

}  // namespace alm::tuning

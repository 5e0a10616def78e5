#include "tuning/trial.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <optional>

namespace alm::tuning {

using Rules = TrialRules;
using base::ratio;

namespace {

// The first way that may still be chosen; if none may, the first that can be called.
std::size_t open_way(const Standings& ways) {
  std::optional<std::size_t> callable;
  for (std::size_t way = 0; way < ways.size(); ++way) {
    if (!ways[way].out) return way;
    if (!callable && !ways[way].impossible) callable = way;
  }
  return callable.value_or(0);
}

base::Nanos longest_stall(const Standings& ways) {
  base::Nanos longest = 0;
  for (std::size_t way = 0; way < ways.size(); ++way) longest = std::max(longest, ways[way].stall);
  return longest;
}

// The fastest way that cannot stall, if it is faster than this one with all that stalls have cost:
// `stalled` in so many `calls`. It may have been ruled out for a lucky one. Ranks that come late
// make calls of both longer.
std::optional<std::size_t> refuge(const Standings& ways, std::size_t from, base::Nanos stalled,
                                  std::uint64_t calls) {
  if (stalled == 0 || ways[from].stall == 0) return std::nullopt;
  std::optional<std::size_t> found;
  for (std::size_t way = 0; way < ways.size(); ++way) {
    if (ways[way].stall > 0 || ways[way].impossible || ways.time(way) == 0) continue;
    if (!found || ways.time(way) < ways.time(*found)) found = way;
  }
  if (!found) return std::nullopt;
  const auto each = [](base::Nanos cost, std::uint64_t of) {
    return cost / static_cast<base::Nanos>(std::max(of, Rules::kSettling));
  };
  const Stalls& late = ways[*found].stalls;
  const bool faster =
      ways.time(*found) + each(late.cost(), late.calls()) < ways.time(from) + each(stalled, calls);
  return faster ? found : std::nullopt;
}

// A way has waited for time-outs again and again: none that may is trusted from here on. Their
// packets overflow the same queues, whatever a few lucky sightings have shown.
void rule_out_stalling(Standings& ways, std::size_t stalling) {
  ways[stalling].out = true;
  for (std::size_t way = 0; way < ways.size(); ++way) ways[way].suspected = ways[way].stall > 0;
}

// The first call of a way takes longer than later ones, and counts as what it took: who tries a way
// pays for it. That of the first way and of the library's own counts as a later one, because
// without trials the program would have started one of them, too.
double spent_by_calls(const Standings& ways, std::size_t first) {
  const base::Nanos best = ways.least();
  double spent = 0;
  for (std::size_t way = 0; way < ways.size(); ++way) {
    const Sightings& seen = ways[way].seen;
    if (seen.started()) {
      const bool free = way == first || ways.librarys_own(way);
      spent += free ? ways.expected(way) : std::max(0.0, ratio(seen.first(), best) - 1);
    }
    seen.charge(best, &spent);
  }
  return spent;
}

}  // namespace

Trial::Trial(const std::vector<Transport>& ways, base::Nanos limit, double time_scale)
    : ways_(ways, limit), span_(base::slowed(Rules::kSpan, time_scale)) {
  begin();
}

// Where nothing is known of what calls take, the second way is seen before the ranks agree.
void Trial::begin() {
  std::vector<std::size_t> open;
  for (std::size_t way = 0; way < ways_.size(); ++way) {
    if (!ways_[way].out) open.push_back(way);
  }
  batch_.clear();
  if (!open.empty()) chosen_ = first_ = vouching_.begin(ways_, open.front(), false);
  if (open.size() <= 1) return decide(0);
  batch_ = {{first_, true}};
  if (ways_.limit() <= 0 && !ways_.has_predictions() && !ways_.risky(open[1])) add(open[1]);
}

void Trial::set_limit(std::optional<base::Nanos> limit) {
  for (std::size_t way = 0; !limit && way < ways_.size(); ++way) ways_[way].least = 0;
  if (!limit) return ways_.set_limit(0);
  if (ways_.limit() > 0 || *limit <= 0) return;
  ways_.set_limit(*limit);
  if (!decided() && ways_.calls() <= 1) batch_ = {{first_, true}};
}

// The number of calls on which the budget of trying rests.
std::uint64_t Trial::taken_as_made() const {
  if (goes_on_) return ways_.calls();
  const std::uint64_t horizon = ways_.trusts() ? Rules::kTrustedHorizon : Rules::kHorizon;
  if (!ways_.within(Rules::kNearLimit)) return std::max(ways_.calls(), horizon);
  return std::max(ways_.calls(),
                  std::min(horizon, static_cast<std::uint64_t>(span_ / ways_.least())));
}

void Trial::took(base::Nanos time) {
  ways_.count_call();
  if (ways_.calls() == 1) return ways_[first_].seen.began(!decided());
  if (!batch_.empty()) {
    times_.push_back(time);
    if (times_.size() == batch_.size()) come_to_agree();
    return;
  }
  drift_.took(time);
  if (drift_.to_look(ways_.calls()) && ways_.size() > 1) {
    come_to_agree();
  } else if (budget_.turn_has_come(ways_.calls())) {
    plan();  // all ranks make the same
  }
}

void Trial::come_to_agree() {
  times_.push_back(drift_.recent());
  times_.push_back(drift_.stalls().repeated());
  times_.push_back(-budget_.agreeing());
  due_ = true;
}

void Trial::agree(const std::vector<base::Nanos>& slowest) {
  assert(slowest.size() == times_.size());
  budget_.count_agreement(-slowest.back());
  const base::Nanos recent = slowest[slowest.size() - kWordsBeside];
  const base::Nanos stalled = slowest[slowest.size() - 2];
  const bool drifted = Drift::is_drift(recent, time(chosen_));
  const bool adopted = drift_.compares_adopted();
  due_ = false;
  times_.clear();
  if (doubted_) return confirm(slowest);
  if (!batch_.empty()) {
    drift_.forget();
    if (drift_.counts(ways_.calls() - batch_.size())) follow(recent);
    count(slowest);
    if (vouching_.waits() && hold_against(slowest.front())) return;
    ways_.drop();
    return drifted && !ways_[chosen_].out ? doubt() : plan();
  }
  if (adopted) {
    drift_.keep_adopted();
    // A process's first calls are cold, and where calls are short that alone makes them much
    // longer.
    if (recent < Rules::kShort) {
      if (drifted) drift_.look_soon();
      drift_.forget();
      return await_turn();
    }
    if (ratio(recent, time(chosen_)) > Rules::kAside) return reopen(recent);
  }
  const bool for_stalls_alone = drift_.looks_for_stalls();
  drift_.looked(ways_.calls());
  if (const auto way = refuge(ways_, chosen_, stalled, drift_.stalls().calls())) return flee(*way);
  if (for_stalls_alone) return await_turn();
  if (drifted) return doubt();
  if (unfinished_ && recent > 0 && ways_.calls() >= Rules::kFirstLook) return go_on(recent);
  follow(recent);
  await_turn();
}

// A few calls that stall raise what is smoothed as much as hosts that have become slower. The way
// chosen is seen again before all is tried anew, which costs agreeing alone. What other ways have
// just been seen to take is not forgotten over it.
void Trial::doubt() {
  doubted_ = true;
  const auto calls = ways_[chosen_].stall > 0 ? Rules::kConfirmingDear : Rules::kConfirming;
  batch_.assign(static_cast<std::size_t>(calls), {chosen_, true});
}

// The chosen way stalls again and again. Nothing else has changed: what was seen of others holds.
void Trial::flee(std::size_t to) {
  ways_[to].out = false;
  rule_out_stalling(ways_, chosen_);
  drift_.forget();
  ++reopened_;
  unfinished_ = false;
  if (!ways_[to].seen.none()) return plan();
  batch_ = {{to, true}};
}

// The job lasts. What an earlier one has seen holds; what that could not afford is tried when the
// calls of this one pay for it.
void Trial::go_on(base::Nanos recent) {
  unfinished_ = false;
  goes_on_ = true;
  for (std::size_t way = 0; way < ways_.size(); ++way) {
    ways_[way].out = ways_[way].out || (way != chosen_ && ways_[way].seen.known() > 0);
  }
  ways_[chosen_].seen.reopen_with(recent);
  plan();
}

void Trial::confirm(std::span<const base::Nanos> slowest) {
  doubted_ = false;
  const base::Nanos now = Sightings::time_by({slowest.begin(), slowest.end() - kWordsBeside});
  if (Drift::is_drift(now, time(chosen_))) return reopen(now);
  batch_.clear();
  drift_.forget();
  if (budget_.turn_has_come(ways_.calls())) return plan();
  await_turn();
}

// The way chosen has become faster since it was seen, or has been seen cold: a process's first
// calls take two or three times as long as its later ones.
void Trial::follow(base::Nanos recent) {
  Sightings& seen = ways_[chosen_].seen;
  if (recent > 0 && !seen.none() && recent < seen.time()) seen.add(recent, true);
}

// The agreement just made has to be paid for first.
void Trial::await_turn() {
  budget_.await_turn(spent(),
                     ways_.trusts() ? Rules::kTrusting : std::numeric_limits<std::uint64_t>::max());
}

void Trial::adopt(std::size_t way, const std::vector<base::Nanos>& times) {
  assert(times.size() == ways_.size());
  for (std::size_t i = 0; i < ways_.size(); ++i) ways_[i].seen.know(times[i]);
  batch_.clear();
  decide(0);
  choose(way);
  unfinished_ = std::find(times.begin(), times.end(), 0) != times.end();
  drift_.adopt(ways_.calls(), ways_[way].stall);
  first_ = vouching_.begin(ways_, way, true);
  if (first_ != way) batch_ = {{first_, true}};
}

// A call has taken `time` that shows whether what is said of the chosen way holds. Returns whether
// that settles what the next call does: nothing was tried but what an earlier job had decided.
bool Trial::hold_against(base::Nanos time) {
  const std::size_t witness = batch_.front().way;
  const bool holds = vouching_.holds(ways_, witness, time);
  if (!has_decided_) return false;
  if (!holds) {
    chosen_ = witness;
    reopen(time);
  } else if (vouching_.waits()) {
    batch_ = {{chosen_, false}};
  } else {
    batch_.clear();
    choose(chosen_);
    drift_.adopt(ways_.calls(), ways_[chosen_].stall);
  }
  return true;
}

void Trial::choose(std::size_t way) {
  drift_.expect(time(way), way != chosen_);
  chosen_ = way;
}

void Trial::rule_out(std::size_t way) {
  ways_[way].out = ways_[way].impossible = true;
  ways_[way].seen.know(0);
  vouching_.end();
  if (has_decided_ && ways_.calls() == 0) {
    batch_.clear();
    first_ = chosen_;
  }
  if (decided()) {
    if (chosen_ == way) chosen_ = first_ = open_way(ways_);
    return decide(0);
  }
  if (ways_.calls() == 0) return begin();
  if (chosen_ == way) chosen_ = open_way(ways_);
  if (times_.empty()) return plan();
  // What has been timed is not lost.
  const auto made = batch_.begin() + static_cast<std::ptrdiff_t>(times_.size());
  batch_.erase(std::remove_if(made, batch_.end(), [&](const Turn& one) { return one.way == way; }),
               batch_.end());
  if (batch_.size() == times_.size()) batch_.push_back({open_way(ways_), true});
}

void Trial::predicts(std::size_t way, base::Nanos time) {
  ways_[way].predicted = time;
  if (!has_decided_ && ways_.calls() == 0) begin();
}

void Trial::expects(std::size_t way, base::Nanos stall, Heard heard) {
  Candidate& candidate = ways_[way];
  if (candidate.heard == heard && candidate.stall == stall) return;
  candidate.heard = heard;
  candidate.stall = stall;
  if (ways_.calls() == 0) {
    if (!has_decided_) begin();
  } else if (decided() && !due_ && postponed() && ways_.ways_seen() > 0) {
    plan();
  }
}

// Where the first call of the library's own way may stall the ranks agree on it before the next.
void Trial::add(std::size_t way) {
  const std::size_t run = ways_.run(way);
  batch_.insert(batch_.end(), ways_.leads(way), {way, false});
  if (run == 0) return;
  const bool begins =
      ways_[way].stall == 0 ? run > 1 : ways_[way].seen.count() == Rules::kWarmStalling;
  batch_.push_back({way, true, ways_.is_short() && begins});
  batch_.insert(batch_.end(), run - 1, {way, true});
}

void Trial::count(const std::vector<base::Nanos>& slowest) {
  const base::Nanos stall = longest_stall(ways_);
  for (std::size_t i = 0; i < batch_.size(); ++i) {
    const base::Nanos time = std::max<base::Nanos>(slowest[i], 1);
    Candidate& way = ways_[batch_[i].way];
    if (ways_.ways_seen() > 0) way.stalls.note(time, ways_.least(), stall);
    Sightings& seen = way.seen;
    if (batch_[i].sighting) {
      seen.add(time, batch_[i].begins);
    } else {
      seen.add_lead(time);
    }
  }
  for (std::size_t way = 0; way < ways_.size(); ++way) {
    const Stalls& stalls = ways_[way].stalls;
    if (ways_[way].out || ways_[way].seen.none()) continue;
    if (refuge(ways_, way, stalls.repeated(), stalls.calls())) rule_out_stalling(ways_, way);
  }
}

double Trial::spent() const { return budget_.spent(spent_by_calls(ways_, first_), ways_.least()); }

// Plans the next batch: a run of each way that was seen least often, or the first sighting of one
// way. Of ways that may stall no more than one.
void Trial::plan() {
  batch_.clear();
  std::size_t contenders = 0;
  for (std::size_t way = 0; way < ways_.size(); ++way) contenders += ways_.contends(way) ? 1 : 0;
  if (contenders <= 1 || ways_.at_limit() || ways_.settled()) return decide(0);
  const base::Nanos least = ways_.least();
  const std::size_t fastest = ways_.fastest();
  if (ways_.is_short() && ways_.within(Rules::kNearLimit) && !ways_.seen_often(fastest)) {
    return add(fastest);
  }
  // What costs nothing, because agreeing took no time, can always be afforded.
  const double to_come = Budget::left(taken_as_made(), spent());
  const double made = Budget::left(ways_.calls(), spent());
  const double soon =
      std::min(to_come, Budget::left(std::max(ways_.calls(), Rules::kSlowHorizon), spent()));
  const auto allowed = [&](std::size_t way) {
    if (ways_.aside(way)) return made;
    const bool slower = ways_[way].seen.count() >= Rules::kDoubtless &&
                        ratio(ways_.time(way), least) > Rules::kAsFast;
    return slower ? soon : to_come;
  };
  const bool alone =  // to see it again tells nothing
      (ways_.has_predictions() || goes_on_) && ways_.ways_seen() == 1;
  std::optional<std::size_t> fewest;
  double cheapest = 0;  // of those that cannot be afforded now
  for (std::size_t way = 0; way < ways_.size(); ++way) {
    if (!ways_.again(way) || (alone && !ways_[way].seen.none())) continue;
    if (const double price = budget_.agreement(least) + ways_.cost(way); price > allowed(way)) {
      cheapest = cheapest == 0 ? price : std::min(cheapest, price);
    } else if (!fewest || ways_[way].seen.count() < *fewest) {
      fewest = ways_[way].seen.count();
    }
  }
  double planned = budget_.agreement(least);
  for (std::size_t way = 0; way < ways_.size(); ++way) {
    if (!ways_.again(way) || ways_[way].seen.count() != fewest) continue;
    if (planned + ways_.cost(way) > allowed(way)) continue;
    planned += ways_.cost(way);
    add(way);
    if (fewest == 0 || ways_[way].stall > 0) break;
  }
  if (!batch_.empty()) return;
  if (ways_.surprised()) return add(fastest);
  decide(cheapest);
}

// `postponed_cost`: the cost of the next sighting that waits for its turn; 0: nothing waits.
void Trial::decide(double postponed_cost) {
  auto best = best_seen(ways_);
  if (!best && ways_[chosen_].out) best = open_way(ways_);
  choose(best.value_or(chosen_));
  has_decided_ = true;
  budget_.postpone(postponed_cost);
  await_turn();
  drift_.begin(ways_.calls(), ways_[chosen_].stall);
}

// The chosen way takes `now`.
void Trial::reopen(base::Nanos now) {
  unfinished_ = goes_on_ = false;
  budget_.carry(spent_by_calls(ways_, first_));
  for (std::size_t way = 0; way < ways_.size(); ++way) {
    ways_[way].seen.reopen();
    ways_[way].out = ways_[way].impossible;
    ways_[way].stalls = Stalls();
  }
  ways_[chosen_].seen.reopen_with(now);
  ways_[chosen_].opening = 0;
  drift_.forget();
  ++reopened_;
  plan();
}

}  // namespace alm::tuning

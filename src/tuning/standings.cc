#include "tuning/standings.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <limits>
#include <span>

namespace alm::tuning {

using Rules = TrialRules;
using base::ratio;

Standings::Standings(const std::vector<Transport>& ways, base::Nanos limit) : limit_(limit) {
  assert(!ways.empty());
  for (const Transport transport : ways) {
    ways_.emplace_back();
    ways_.back().transport = transport;
  }
}

std::size_t Standings::fastest() const {
  const auto better = [this](std::size_t way, std::size_t than) {
    if (ways_[way].seen.none()) return false;
    if (ways_[than].seen.none()) return true;
    if (ways_[way].out != ways_[than].out) return ways_[than].out;
    return time(way) < time(than);
  };
  std::size_t fastest = 0;
  for (std::size_t way = 1; way < ways_.size(); ++way) {
    if (better(way, fastest)) fastest = way;
  }
  return fastest;
}

base::Nanos Standings::least() const {
  const std::size_t way = fastest();
  return ways_[way].seen.none() ? std::numeric_limits<base::Nanos>::max() : time(way);
}

bool Standings::within(double factor) const {
  const double longer = ratio(least(), limit_);
  return limit_ > 0 && longer >= Rules::kImpossible && longer <= factor;
}

bool Standings::librarys_seen() const {
  return librarys_ >= ways_.size() || !ways_[librarys_].seen.none() || ways_[librarys_].out;
}

bool Standings::refutes_limit() const {
  return limit_ > 0 && ways_seen() > 0 && ratio(least(), limit_) < Rules::kRefuted;
}

// A short call may seem so because its ranks came to it at different times, or not because it is
// cold: it is seen again before any other way is.
bool Standings::at_limit() const {
  if (keep_to_rates_ && !librarys_seen()) return false;
  return within(Rules::kAtLimit) && (!is_short() || seen_often(fastest()));
}

bool Standings::cannot_win(std::size_t way) const {
  const base::Nanos needs = ways_[way].least;
  const bool known = limit_ > 0 && ratio(least(), limit_) >= Rules::kImpossible;
  const bool undercut = time(way) > 0 && time(way) < needs;
  return known && !undercut && way != fastest() && ratio(needs, least()) > Rules::kClearly;
}

bool Standings::to_warm(std::size_t way) const {
  const Candidate& candidate = ways_[way];
  return (librarys_own(way) || candidate.opening > 0) && !candidate.seen.called();
}

namespace {

// Whether sightings of the way come in ever longer runs (TrialRules::kShort): not if each may wait
// for time-outs.
bool in_long_runs(const Standings& ways, std::size_t way) {
  return ways.is_short() && ways[way].stall == 0;
}

}  // namespace

std::size_t Standings::run(std::size_t way) const {
  const std::size_t seen = ways_[way].seen.count();
  if (seen == 0) return ways_[way].stall > 0 && librarys_own(way) && to_warm(way) ? 0 : 1;
  if (seen < Rules::kOneByOne) {
    const bool at_once = in_long_runs(*this, way) && !aside(way) && !seems_late(way);
    return at_once ? Rules::kOneByOne - seen : 1;
  }
  if (in_long_runs(*this, way)) return std::bit_floor(seen);
  const std::size_t half = std::bit_floor(seen) / 2;
  return is_short() ? std::min(half, Rules::kRunStalling) : half;
}

std::size_t Standings::leads(std::size_t way) const {
  if (is_short()) {
    const std::size_t leads = std::max<std::size_t>(run(way), 1);
    return in_long_runs(*this, way) ? leads : std::min(leads, Rules::kRunStalling / 2);
  }
  return to_warm(way) ? 1 : 0;
}

// The best may be so by luck, as long as it has been seen a few times only.
void Standings::drop() {
  const std::size_t best = fastest();
  for (std::size_t way = 0; way < ways_.size(); ++way) {
    const std::size_t seen = std::min(ways_[way].seen.count(), ways_[best].seen.count());
    if (clearly_behind(ratio(time(way), time(best)), seen, is_short())) ways_[way].out = true;
  }
}

double Standings::expected(std::size_t way) const {
  const base::Nanos best = least();
  const Candidate& candidate = ways_[way];
  if (seems_late(way)) return std::max(0.0, between(way) - 1);
  if (time(way) != 0) return std::max(0.0, ratio(time(way), best) - 1);
  if (librarys_own(way) && candidate.seen.first() != 0) {
    // A time-out is no matter of the first call.
    const bool stalled = candidate.stall > 0 && candidate.seen.first() > candidate.stall;
    const double warming = stalled ? 1 : Rules::kWarming;
    return std::max(0.0, ratio(candidate.seen.first(), best) / warming - 1);
  }
  const double stall = risky(way) ? ratio(candidate.stall, best) : 0;
  if (candidate.predicted > 0 && predictions_hold()) return foreseen(way) - 1 + stall;
  double alike = std::numeric_limits<double>::infinity();
  for (std::size_t other = 0; other < ways_.size(); ++other) {
    if (ways_[other].transport != candidate.transport || time(other) == 0) continue;
    alike = std::min(alike, ratio(time(other), best));
  }
  const Heard& heard = candidate.heard;
  if (heard.times > 0) return std::max({heard.times, ratio(heard.least, best), 1.0}) - 1 + stall;
  return (std::isinf(alike) ? Rules::kUnseen : std::max(Rules::kUnseen, alike)) - 1 + stall;
}

double Standings::cost(std::size_t way) const {
  const auto calls = static_cast<double>(leads(way) + run(way));
  const double stall = ways_[way].suspected ? ratio(ways_[way].stall, least()) : 0;
  return calls * expected(way) + opening(way) + stall;
}

// What the first call of the way takes beyond later ones. That of the library's own is no cost of
// trials, but it is none for a program's first calls either.
double Standings::opening(std::size_t way) const {
  const Candidate& candidate = ways_[way];
  if (candidate.seen.first() != 0) return 0;
  const bool cold = trusts() && librarys_own(way) && to_warm(way);
  return ratio(candidate.opening, least()) +
         (cold ? (Rules::kWarming - 1) * (1 + expected(way)) : 0);
}

bool Standings::again(std::size_t way) const {
  return contends(way) &&
         ways_[way].seen.count() < (is_short() ? Rules::kShortSightings : Rules::kSightings);
}

bool Standings::aside(std::size_t way) const {
  if (risky(way) || (ways_[way].suspected && ways_[way].stall > 0) ||
      (ways_[way].opening > 0 && to_warm(way)))
    return true;
  if (seems_late(way)) return false;
  return ways_[way].seen.count() == 1 && ratio(time(way), least()) > Rules::kAside;
}

bool Standings::settled() const {
  const base::Nanos best = least();
  const std::size_t enough = is_short() ? 2 * Rules::kSettled : Rules::kSettled;
  for (std::size_t way = 0; way < ways_.size(); ++way) {
    if (!contends(way)) continue;
    if (ways_[way].seen.count() < enough || ratio(time(way), best) > Rules::kAsFast) return false;
  }
  return true;
}

bool clearly_behind(double times, std::size_t sightings, bool is_short) {
  const std::span<const Rules::Behind> behind =
      is_short ? std::span<const Rules::Behind>(Rules::kShortBehind) : Rules::kBehind;
  const auto limit = std::find_if(behind.rbegin(), behind.rend(), [&](const Rules::Behind& one) {
    return sightings >= one.sightings;
  });
  return limit != behind.rend() && times > limit->times;
}

std::optional<std::size_t> best_seen(const Standings& ways) {
  std::optional<std::size_t> best;
  for (std::size_t way = 0; way < ways.size(); ++way) {
    if (ways[way].seen.none() || ways[way].out) continue;
    if (!best || ratio(ways.time(way), ways.time(*best)) < Rules::kClearly) best = way;
  }
  return best;
}

}  // namespace alm::tuning

// What a trial makes of predictions. They say which way is seen first (who makes the trial puts the
// ways in that order) and what an unseen way costs. They never decide.
//
// A profile may be wrong: of another day, of other hosts, or about one way. So:
//   - Wrong by one factor for all ways, it still has them in the right order: what is predicted of
//     a way is compared with what is predicted of the best way seen.
//   - Where the ways seen differ from what was predicted by factors that differ (kSurprise), all is
//     as if nothing had been predicted.
//   - While one way has been seen alone, there is nothing to compare. If it took much longer than
//     predicted, the next way is seen, where that is cheap, or else the first a second time.
//   - A way that has been seen once, long after its time, is seen again where it should be the
//     fastest and the best way seen takes what was predicted: one sighting may be late.
//   - While predictions hold, the first calls (kTrusting) are hardly used for trying. The budget of
//     a trial is there from then on.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tuning/standings.h"

namespace alm::tuning {

using Rules = TrialRules;
using base::ratio;

bool Standings::has_predictions() const {
  return std::any_of(ways_.begin(), ways_.end(),
                     [](const Candidate& one) { return one.predicted > 0; });
}

std::size_t Standings::ways_seen() const {
  return static_cast<std::size_t>(std::count_if(
      ways_.begin(), ways_.end(), [](const Candidate& one) { return !one.seen.none(); }));
}

// One sighting alone may be late, or cold. A single way that is faster than predicted is so all the
// more beside the others.
bool Standings::predictions_hold() const {
  double least = std::numeric_limits<double>::infinity();
  double most = 0;
  std::size_t ways = 0;
  std::size_t sightings = 0;  // of them
  for (std::size_t way = 0; way < ways_.size(); ++way) {
    if (ways_[way].predicted == 0 || ways_[way].seen.none()) continue;
    const double times = ratio(time(way), ways_[way].predicted);
    least = std::min(least, times);
    most = std::max(most, times);
    sightings += ways_[way].seen.count();
    ++ways;
  }
  if (ways == 0) return has_predictions();
  if (ways == 1) return sightings == 1 || most <= Rules::kSurprise;
  return most <= Rules::kSurprise * least;
}

bool Standings::risky(std::size_t way) const {
  const Candidate& candidate = ways_[way];
  if (candidate.stall == 0 || candidate.heard.held) return false;
  if (candidate.seen.called() || !candidate.seen.none()) return false;
  if (candidate.predicted == 0 || !predictions_hold()) return true;
  if (ways_seen() > 0 && ratio(candidate.predicted, ways_[fastest()].predicted) > Rules::kClearly) {
    return true;  // there is little to gain
  }
  return std::any_of(ways_.begin(), ways_.end(),
                     [](const Candidate& one) { return one.waited(one.seen.shown()); });
}

bool Standings::surprised() const {
  const Candidate& best = ways_[fastest()];
  return ways_seen() == 1 && best.seen.count() == 1 && best.predicted > 0 &&
         ratio(least(), best.predicted) > Rules::kSurprise;
}

bool Standings::seems_late(std::size_t way) const {
  const Candidate& candidate = ways_[way];
  const std::size_t best = fastest();
  const base::Nanos of_best = ways_[best].predicted;
  if (candidate.seen.count() != 1 || way == best || candidate.predicted >= of_best) return false;
  if (candidate.predicted <= 0 || candidate.waited(time(way))) return false;
  const double usual = ratio(least(), of_best);
  return ratio(time(way), candidate.predicted) > Rules::kSurprise * usual;
}

// What a way that seems late is expected to take, in calls of the best: between what it took and
// what was predicted.
double Standings::between(std::size_t way) const {
  const double predicted = ratio(ways_[way].predicted, ways_[fastest()].predicted);
  return std::sqrt(predicted * ratio(time(way), least()));
}

// What a way not seen is expected to take, in calls of the best, at least one. Where the best takes
// longer than predicted, either all do, or others are better than they seem beside it. In the first
// calls of a program it is all; later it lies in between, so that no way waits for ever.
double Standings::foreseen(std::size_t way) const {
  const base::Nanos predicted = ways_[way].predicted;
  const base::Nanos of_best = ways_[fastest()].predicted;
  const double absolute = ratio(predicted, least());
  const double relative = of_best > 0 ? ratio(predicted, of_best) : absolute;
  return std::max({absolute, trusts() ? relative : std::sqrt(absolute * relative), 1.0});
}

}  // namespace alm::tuning

#include "tuning/vouching.h"

#include <optional>

namespace alm::tuning {

using Rules = TrialRules;
using base::ratio;

namespace {

// What a call takes by an earlier job, or by prediction; 0: not known.
base::Nanos said(const Candidate& way, bool adopted) {
  return adopted ? way.seen.known() : way.predicted;
}

}  // namespace

std::size_t Vouching::begin(const Standings& ways, std::size_t chosen, bool adopted) {
  end();
  const base::Nanos of_chosen = said(ways[chosen], adopted);
  if (of_chosen == 0 || ratio(ways[chosen].stall, of_chosen) <= Rules::kAside) return chosen;
  std::optional<std::size_t> found;
  base::Nanos least = 0;
  for (std::size_t way = 0; way < ways.size(); ++way) {
    if (ways[way].stall > 0 || ways[way].out) continue;
    const base::Nanos time = said(ways[way], adopted);
    if (found && (time == 0 || (least > 0 && time >= least))) continue;
    found = way;
    least = time;
  }
  if (!found) return chosen;
  next_ = Next::kWitness;
  adopted_ = adopted;
  vouched_for_ = chosen;
  return *found;
}

bool Vouching::holds(Standings& ways, std::size_t way, base::Nanos time) {
  const Next is = next_;
  end();
  const base::Nanos most = Rules::kFirstCall * said(ways[way], adopted_) + ways[way].opening;
  bool refuted = is == Next::kFirstCall ? Stalls::is_stall(time, most, ways[way].stall)
                                        : ratio(said(ways[way], adopted_), time) > Rules::kFarOff;
  if (adopted_ && is == Next::kWitness) {
    refuted = refuted || ratio(time, said(ways[vouched_for_], adopted_)) < Rules::kClearly;
    if (!refuted) next_ = Next::kFirstCall;
  }
  for (std::size_t i = 0; refuted && i < ways.size(); ++i) {
    if (adopted_) {
      ways[i].seen.know(0);
    } else {
      ways[i].predicted = 0;
      ways[i].refuted = true;
    }
  }
  return !refuted;
}

}  // namespace alm::tuning

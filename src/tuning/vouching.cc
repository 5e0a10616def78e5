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
  const base::Nanos usual = said(ways[way], adopted_);
  const bool witness = next_ == Next::kWitness;
  bool refuted = false;
  if (witness) {
    refuted = ratio(usual, time) > Rules::kFarOff ||
              (adopted_ && ratio(time, said(ways[vouched_for_], adopted_)) < Rules::kClearly);
  } else {
    const base::Nanos cold = Rules::kFirstCall * usual + ways[way].opening;
    refuted = Stalls::is_stall(time, cold, ways[way].stall);
  }
  next_ = witness && adopted_ && !refuted ? Next::kFirstCall : Next::kNothing;
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

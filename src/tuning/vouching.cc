#include "tuning/vouching.h"

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
  vouched_for_.reset();
  adopted_ = adopted;
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
  vouched_for_ = chosen;
  return *found;
}

Vouching::Verdict Vouching::judge(Standings& ways, std::size_t& witness, base::Nanos time) {
  if (std::exchange(opens_, false)) {
    return ways[witness].waited(time) ? Verdict::kStalled : Verdict::kHolds;
  }
  const std::size_t way = *end();
  bool refuted = ratio(said(ways[witness], adopted_), time) > Rules::kFarOff;
  if (adopted_) {
    refuted = refuted || ratio(time, said(ways[way], adopted_)) < Rules::kClearly;
    opens_ = !refuted;
    if (opens_) witness = way;
  }
  for (std::size_t i = 0; refuted && i < ways.size(); ++i) {
    if (adopted_) {
      ways[i].seen.know(0);
    } else {
      ways[i].predicted = 0;
      ways[i].refuted = true;
    }
  }
  return refuted ? Verdict::kRefuted : Verdict::kHolds;
}

}  // namespace alm::tuning

// Whether queues hold what MPI libraries send at once.
//
// A call of the library whose packets overflow a queue waits for time-outs of TCP, and cannot be
// stopped; so a trial does not begin it before the calls made pay for that (trial.h). Where queues
// hold everything, the program waits in vain for what may be faster. A burst finds out: before a
// call of ours every rank sends at once twice as many packets as the call takes, peer after peer in
// an order of chance: one that all ranks keep alike is kinder to queues, or harder, than
// connections that nobody coordinates. They carry nothing, nobody answers, and what is lost is not
// sent again: it takes as long as the packets need. If all have come by the end of the call after
// them, queues hold as much. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>

#include "base/time.h"
#include "tuning/standings.h"
#include "tuning/trial_rules.h"
#include "wire/fill.h"

namespace alm::tuning {

class Bursts {
 public:
  // Comes before each call: whether a burst does, too. `calls`: made so far.
  bool due(std::uint64_t calls) const { return !made_ && calls >= next_; }
  void begin(std::uint64_t calls) {
    made_ = true;
    next_ = calls * TrialRules::kBurstGrowth;
  }
  // Comes after each call: whether the ranks tell each other now what has come.
  bool to_agree() const { return made_; }
  // Whether all of it have come.
  void agree(bool held) {
    made_ = false;
    held_ = held;
  }
  // Whether queues have held all of the latest.
  bool held() const { return held_; }

 private:
  std::uint64_t next_ = TrialRules::kFirstBurst;
  bool made_ = false, held_ = false;
};

// Whether a burst is worth its time: some way may wait for time-outs much longer than that takes,
// and has not been seen. `stalls`: [way] how long.
inline bool worth_a_burst(const Standings& ways, std::span<const base::Nanos> stalls) {
  for (std::size_t way = 0; ways.ways_seen() > 0 && way < ways.size(); ++way) {
    const bool dear = base::ratio(stalls[way], ways.least()) > TrialRules::kBurstCost;
    if (dear && ways.contends(way) && ways.risky(way)) return true;
  }
  return false;
}

// How many packets of the latest burst were lost. Nothing: none was sent.
inline std::optional<std::uint64_t> lost_of(std::span<const wire::FillCount> all) {
  std::uint64_t sent = 0, received = 0;
  for (const wire::FillCount& one : all) {
    if (one.number == 0) continue;  // it leads nobody
    sent += one.sent;
    // All send as much. What sockets had no room for may be of the call.
    if (one.seen == one.number) received += std::min(one.received, one.sent);
  }
  if (sent == 0) return std::nullopt;
  return sent - std::min(sent, received);
}

}  // namespace alm::tuning

// Finds the fastest of a few ways for the exchanges of one communicator and size class.
//
// The first calls take the ways in turn and are timed. The ranks then agree on the times of the
// slowest rank (the caller reduces them), and so on everything that follows from them.
// trial_rules.h has the figures that rule a trial, with a reason for each.
//
//             +----------+  batch complete: agree   +---------+
//   start --> |  trying  | -----------------------> | plan or |
//             | (batch)  | <----------------------- | decide? |
//             +----------+   another sighting pays  +---------+
//                  ^                                   |   ^
//    drift is real |                    nothing pays:  |   | a postponed way's
//    (all tried    |                    decide         v   | turn has come
//    anew)         |                               +-----------+
//             +------------+  seems slower: agree  |  decided  |<--+ look after 64, 256, ...
//             |  doubting  | <-------------------- | (no batch)|---+ calls: agree
//             | (its batch)| --------------------> +-----------+
//             +------------+  drift is refuted           ^
//                                                        |
//   adopt(): a decision of an earlier job ---------------+
//            what that has not seen is tried when this one has made 64 calls
//
//   trying    The next calls are a batch: sightings of one way or of a few. way() says which.
//   decided   All calls take the chosen way. From time to time the ranks compare how long it takes
//             now. A way that was too slow to be seen again waits until the calls made so far pay
//             for it.
//   doubting  The chosen way seems to have become slower. A batch of it alone shows whether it has.
//
// What is a sighting:
//   - The first call takes the first way and is not timed: ranks come to it at different times, and
//     memory is touched for the first time. The first call of the library's own way does not count
//     either: it takes up to nine times as long as the next.
//   - Each way is seen once, then those not clearly behind again and again. One slow sighting puts
//     a way aside: it is seen again when the calls made so far pay for it, not those to come. Two
//     or more slow sightings rule it out.
//   - The time of a way is the mean of its sightings without the slowest: a late rank spoils one,
//     but a way that often stalls must show it.
//
// What trying may cost:
//   - Trying costs the time of its calls beyond the best way's, and the time of agreements. The sum
//     stays within a part of the time of all calls. A way that would exceed it waits for its turn.
//   - Three costs are not counted: the first two agreements, because the time of an agreement is
//     known only with the next one; how much longer the very first call, and the first call of the
//     library's own way, take than later ones; and the slowest sightings.
//
// What is chosen:
//   - A way replaces one before it in the list only if it is clearly faster.
//   - If the least time that the links allow is known, a way close to it is kept at once: no other
//     can be clearly faster. Ways that are paced by the same file say nothing of it, so that the
//     library's own is seen first.
//   - A way whose calls may wait for time-outs, because queues overflow, is dear as long as it has
//     not been seen: a call that stalls cannot be stopped. It waits until the calls made pay for
//     it. What it has shown at other sizes counts. What its stalls have cost counts although the
//     mean leaves them out: a way that cannot stall is chosen when it is faster with all that.
//     While such a way is new, the ranks compare after every four calls.
//   - Nor is such a way begun with because an earlier job, or a prediction, says that it is the
//     fastest: another way is called twice first, and vouches for what is said by what it takes.
//   - A way that cannot be faster than the best, because it sends every block in a packet of its
//     own, is not tried.
//
// What predictions change (standings_predictions.cc): they order the ways and give the cost of
// unseen ways. As long as all ways seen differ from their predictions by about the same factor,
// little is spent in the first calls of a program. Sightings alone decide which way is kept.
//
// Pure: every rank makes the same calls in the same order, so that all are in the same state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/time.h"
#include "base/transport.h"
#include "tuning/budget.h"
#include "tuning/drift.h"
#include "tuning/standings.h"
#include "tuning/vouching.h"

namespace alm::tuning {

class Trial {
 public:
  // Two ways: ours and the MPI library's own. `limit`: the least time of a call; 0: not known.
  explicit Trial(base::Nanos limit = 0) : Trial({Transport::kUdp, Transport::kMpi}, limit) {}
  // The transports of the ways, at least one, in order of preference: ways over the same transport
  // are expected to be slow together. `time_scale`: how many times longer calls take than
  // at full speed (base::slowed).
  explicit Trial(const std::vector<Transport>& ways, base::Nanos limit = 0, double time_scale = 1);

  // `limit` has become known, or has changed.
  // Nothing: it is refuted, and so is what single ways need.
  void set_limit(std::optional<base::Nanos> limit);

  // The way the next call takes.
  std::size_t way() const {
    if (ways_.calls() == 0) return first_;
    return batch_.empty() ? chosen_ : batch_[times_.size()].way;
  }
  // The ways keep to the rates from which the limit is made.
  void keep_to_rates() { ways_.keep_to_rates(); }

  // The call has taken way(), and `time` on this rank.
  void took(base::Nanos time);

  // True when the ranks must agree before the next call: on the maximum over all ranks of each of
  // times(), passed to agree() in the same order. After the times of the calls come three more: the
  // smoothed time of calls since the decision (0: nothing new), what stalls of the chosen way have
  // cost, and the negated time of agreed(), so that the rank counts that did not wait for others.
  bool due() const { return due_; }
  const std::vector<base::Nanos>& times() const { return times_; }
  void agree(const std::vector<base::Nanos>& slowest);
  // The agreement has taken `time` on this rank.
  void agreed(base::Nanos time) { budget_.agreed(time); }

  // The first call of the way opens connections: it is no sighting, and is expected to take
  // `opening` longer. Must be called before that call.
  void opens(std::size_t way, base::Nanos opening) { ways_[way].opening = opening; }

  // The least time that the links allow for this way, which sends more packets than others.
  void needs(std::size_t way, base::Nanos least) { ways_[way].least = least; }

  // A call of the way may wait so long for time-outs: who calls it first pays for that, out of the
  // calls made so far. 0: it will not. `heard`: what other sizes have shown of it. A decision that
  // waits for its turn is reconsidered.
  void expects(std::size_t way, base::Nanos stall, Heard heard = {});

  // The predicted time of a call of the way; 0: not known. Must be called before the first call.
  // Where calls of the first way may wait for time-outs, another way vouches for them first.
  void predicts(std::size_t way, base::Nanos time);

  // Which way is the library's own; by default the second. Must be called before the first call.
  void set_librarys_own(std::size_t way) { ways_.set_librarys_own(way); }

  // Decides at once for `way`. `times`: [way] known from an earlier job; 0: not known, and tried
  // once this job lasts. Where calls of `way` may wait for time-outs, another way vouches for the
  // times first.
  void adopt(std::size_t way, const std::vector<base::Nanos>& times);

  // The next call was to take this way for the first time, and cannot.
  void rule_out(std::size_t way);

  bool decided() const { return batch_.empty(); }
  // The way of the latest decision, also while other ways are seen again.
  std::size_t chosen() const { return chosen_; }
  bool has_decided() const { return has_decided_; }
  // Whether a sighting of some way waits until it can be afforded.
  bool postponed() const { return budget_.postponed(); }
  // How the ways stand.
  const Standings& standings() const { return ways_; }
  // The time of the way on which decisions rest; 0: not known yet.
  base::Nanos time(std::size_t way) const { return ways_.time(way); }
  std::size_t sightings(std::size_t way) const { return ways_[way].seen.count(); }
  std::uint32_t reopened() const { return reopened_; }
  // What trying has cost so far, in units of a call of the best way.
  double spent() const;

 private:
  void begin();
  static constexpr std::ptrdiff_t kWordsBeside = 3;  // the times of calls, in an agreement
  // A call in a batch: its way, and whether it is a sighting.
  struct Turn {
    std::size_t way;
    bool sighting;
    bool begins = false;  // earlier sightings of the way no longer count
  };
  std::uint64_t taken_as_made() const;
  void count(const std::vector<base::Nanos>& slowest);
  void follow(base::Nanos recent);
  void doubt();
  void flee(std::size_t to);
  void confirm(std::span<const base::Nanos> slowest);
  void plan();
  void decide(double postponed_cost);
  void choose(std::size_t way);
  bool hold_against(base::Nanos time);
  void come_to_agree();
  void await_turn();
  void add(std::size_t way);
  void reopen(base::Nanos now);
  void go_on(base::Nanos recent);

  Standings ways_;
  Budget budget_;
  Drift drift_;
  Vouching vouching_;
  std::size_t first_ = 0;           // the way of the first call, whose excess is no cost of trying
  base::Nanos span_ = 0;            // TrialRules::kSpan, scaled to the speed of the network
  std::vector<Turn> batch_;         // calls until the ranks agree; empty: decided
  std::vector<base::Nanos> times_;  // times of the batch, not agreed on yet
  bool due_ = false;
  bool has_decided_ = false;
  bool doubted_ = false;     // the batch shows whether the chosen way has become slower
  bool unfinished_ = false;  // an earlier job has decided, and has not seen all ways
  bool goes_on_ = false;     // with those
  std::size_t chosen_ = 0;
  std::uint32_t reopened_ = 0;
};

}  // namespace alm::tuning

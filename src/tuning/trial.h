// Never slower: which of a few ways the exchanges of one communicator and size class take.
//
// The first calls take the ways in turn and are timed. The ranks then agree on the times of the
// slowest rank (the caller reduces them), hence on everything that follows. The figures that rule a
// trial, with what they mean and why, are in trial_rules.h.
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
//   adopt(): a decision known from elsewhere ------------+
//
//   trying    The next calls are a batch: sightings of one way or of a few. way() says which.
//   decided   All calls take the way chosen. From time to time the ranks compare how long it takes
//             now. A way that was too dear to be seen again waits until the calls made pay for it.
//   doubting  The way chosen seems to have become slower. A batch of it alone tells whether it has.
//
// What is a sighting:
//   - The first call takes the first way and is not timed: ranks come to it at different times, and
//     memory is touched for the first time. The first call of the library's own way does not count
//     either: it takes up to nine times as long as the next.
//   - Each way is seen once, then those not clearly behind again and again. One slow sighting puts
//     a way aside: it is seen again when the calls made, not those to come, pay for it. Two and
//     more rule it out.
//   - The time of a way is the mean of its sightings without the slowest: a late rank spoils one,
//     but a way that stalls now and then is to be known by it.
//
// What trying may cost:
//   - Trying costs what its calls take beyond the best way's, and what it takes to agree. The sum
//     stays within a part of all calls. A way that would exceed it waits for its turn.
//   - Not reckoned are the first two agreements (what one took is known with the next), the first
//     call of all and that of the library's own, and the slowest sightings.
//
// What is chosen:
//   - The first way is kept unless another is clearly faster, and so on down the list.
//   - Where the least time the links allow is known, a way close to it is kept at once, since no
//     other can be clearly faster.
//   - A way that needs as long as the best takes, because every block is a packet of its own, is
//     not tried.
//
// What predictions change (trial_predictions.cc): the ways stand in their order, and unseen ways
// are priced by them. As long as the ways seen take alike so many times what was predicted, little
// is spent on the first calls of a program. What is kept is decided by sightings alone.
//
// Pure: every rank makes the same calls in the same order, so that all of them stand at the same
// point.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/time.h"

namespace alm::tuning {

// Ways of one kin are dear together.
enum class Kin : std::uint8_t { kUdp, kLibrary };

class Trial {
 public:
  // Ours and the MPI library's own. `limit`: no call can take less; 0: not known.
  explicit Trial(base::Nanos limit = 0) : Trial({Kin::kUdp, Kin::kLibrary}, limit) {}
  // In order of preference. At least one. `time_scale`: so many times longer than at full speed do
  // calls take (base::slowed).
  explicit Trial(const std::vector<Kin>& ways, base::Nanos limit = 0, double time_scale = 1);

  // What no call can take less than has become known.
  void set_limit(base::Nanos limit);

  // The way the next call takes.
  std::size_t way() const {
    return batch_.empty() || calls_ == 0 ? chosen_ : batch_[times_.size()].way;
  }
  // It has been taken, and took so long on this rank.
  void took(base::Nanos time);

  // True when the ranks are to agree before the next call: on the maximum over all ranks of each of
  // times(), given to agree() in the same order. After those of the calls come two more: what a
  // call has taken since the decision (0: nothing new), and what agreed() was told, negated, so
  // that of the ranks the one counts that did not wait for others.
  bool due() const { return due_; }
  const std::vector<base::Nanos>& times() const { return times_; }
  void agree(const std::vector<base::Nanos>& slowest);
  // That took so long on this rank.
  void agreed(base::Nanos time) { agreeing_ = time; }

  // The first call of the way, which is no sighting of it, is expected to take so much longer,
  // because connections are opened. Before it is taken.
  void opens(std::size_t way, base::Nanos opening);

  // The links let no call of this way take less: it sends more packets than others.
  void needs(std::size_t way, base::Nanos least);

  // A call of the way is predicted to take so long; 0: nothing is known. Before the first call.
  void predicts(std::size_t way, base::Nanos time);

  // Which is the library's own: the second, if nothing is said. Before the first call.
  void set_librarys_own(std::size_t way) { librarys_ = way; }

  // Decides at once for a way whose times are known from elsewhere: [way], 0 where not known.
  void adopt(std::size_t way, const std::vector<base::Nanos>& times);

  // The next call was to take it, for the first time, and cannot.
  void rule_out(std::size_t way);

  bool decided() const { return batch_.empty(); }
  // Of the latest decision, also while other ways are seen again.
  std::size_t chosen() const { return chosen_; }
  bool has_decided() const { return has_decided_; }
  // The next sighting of some way waits for its turn.
  bool postponed() const { return postponed_cost_ > 0; }
  std::size_t ways() const { return ways_.size(); }
  // What it needs is what the best way takes: it is not tried.
  bool cannot_win(std::size_t way) const;
  // The best way seen is as fast as the links allow.
  bool at_limit() const;
  // What the decision rests on; 0 while not known.
  base::Nanos time(std::size_t way) const;
  std::size_t sightings(std::size_t way) const { return ways_[way].seen.size(); }
  std::uint32_t reopened() const { return reopened_; }
  // What trying has cost so far, in calls of the best way.
  double spent() const;

 private:
  struct Candidate {
    Kin kin{};
    std::vector<base::Nanos> seen;  // agreed on, in this trial
    std::ptrdiff_t run_begin = 0;   // of what counts among them
    base::Nanos known = 0;          // from before it
    base::Nanos least = 0;          // the links let no call of it take less; 0: not known
    base::Nanos predicted = 0;      // to take; 0: not known
    base::Nanos opening = 0;        // expected of its first call, beyond later ones
    base::Nanos first = 0;          // its first call, where that is no sighting
    bool started = false;           // in this trial, by such a call
    bool began = false;             // the first call of all took it
    std::size_t leads = 0;          // later calls of this trial that are no sightings
    bool unpaid = false;            // its first sighting was no call of this trial
    bool out = false;               // clearly behind
  };

  void begin();
  std::size_t fastest() const;
  base::Nanos least() const;
  // A call to come: of a way, and whether it is a sighting of it.
  struct Turn {
    std::size_t way;
    bool sighting;
    bool begins = false;  // the run by which the way is known from then on
  };
  bool within(double factor) const;
  std::uint64_t taken_as_made() const;
  bool librarys_own(std::size_t way) const;
  bool to_warm(std::size_t way) const;
  void count(const std::vector<base::Nanos>& slowest);
  void follow(base::Nanos recent);
  void doubt();
  void confirm(std::span<const base::Nanos> slowest);
  void drop();
  void plan();
  void decide(double postponed_cost);
  void choose(std::size_t way);
  bool has_predictions() const;
  std::size_t ways_seen() const;
  bool predictions_hold() const;
  bool trusts() const;
  bool surprised() const;
  double foreseen(std::size_t way) const;
  bool seems_late(std::size_t way) const;
  double between(std::size_t way) const;
  double expected(std::size_t way) const;
  double cost(std::size_t way) const;
  double opening(std::size_t way) const;
  bool contends(std::size_t way) const;
  bool again(std::size_t way) const;
  bool aside(std::size_t way) const;
  bool settled() const;
  bool is_short() const;
  void come_to_agree();
  void await_turn();
  bool turn_has_come() const { return postponed() && calls_ >= turn_; }
  double spent_by_calls() const;
  double agreement() const;
  bool seen_often(std::size_t way) const;
  std::size_t run(std::size_t way) const;
  std::size_t leads(std::size_t way) const;
  void add(std::size_t way);
  void reopen(base::Nanos now);

  std::vector<Candidate> ways_;
  std::size_t librarys_;   // the library's own way
  std::size_t first_ = 0;  // the way that begins: without trials the program would start it, too
  base::Nanos limit_ = 0;
  base::Nanos span_ = 0;            // TrialRules::kSpan, as the speed of the network asks for
  std::vector<Turn> batch_;         // calls before the ranks agree; empty: decided
  std::vector<base::Nanos> times_;  // of the batch, not yet agreed on
  bool due_ = false;
  double postponed_cost_ = 0;  // of the next sighting that waits for its turn
  bool has_decided_ = false;
  bool doubted_ = false;  // whether the way chosen has become slower: its batch tells
  std::size_t chosen_ = 0;
  base::Nanos spike_ = 0;    // a call of the chosen way that takes longer counts as this
  double spent_before_ = 0;  // by the trials before this one
  std::uint64_t calls_ = 0;
  std::uint64_t decided_at_ = 0;  // calls made then
  std::uint64_t look_ = 0;        // calls after the decision at which the ranks compare again
  std::uint64_t turn_ = 0;        // calls made at which a postponed way can be afforded
  base::Nanos recent_ = 0;        // smoothed, on this rank
  base::Nanos agreeing_ = 0;      // took this rank so long, the last time
  base::Nanos agreement_ = 0;     // the same, agreed on
  base::Nanos agreements_ = 0;    // all but the last
  std::uint32_t reopened_ = 0;
};

}  // namespace alm::tuning

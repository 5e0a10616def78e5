// How the ways of a trial stand: which is the fastest, which cannot win, and what the next
// sightings of each are expected to cost. trial.h says what a trial is; what predictions change is
// in standings_predictions.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/time.h"
#include "base/transport.h"
#include "tuning/sightings.h"
#include "tuning/stalls.h"
#include "tuning/trial_rules.h"

namespace alm::tuning {

using base::Transport;

// What other sizes have shown of a way.
struct Heard {
  double times = 0;       // as many times the best as there; 0: nothing
  base::Nanos least = 0;  // time-outs there, which are no shorter here
  // Queues have held as much as its calls send at once, as far as is known (tuning/bursts.h).
  bool held = false;

  friend bool operator==(const Heard&, const Heard&) = default;
};

// One way of a trial.
struct Candidate {
  Transport transport{};
  Sightings seen;
  base::Nanos least = 0;      // the least time the links allow for it; 0: not known
  base::Nanos predicted = 0;  // 0: not known
  base::Nanos opening = 0;    // expected time of its first call beyond later ones
  base::Nanos stall = 0;      // how long a call may wait for time-outs; 0: it will not
  Heard heard;
  Stalls stalls;            // in this trial; of a way that may not, ranks that came late
  bool suspected = false;   // another way has stalled again and again
  bool impossible = false;  // it cannot be called
  bool out = false;         // clearly behind
  bool refuted = false;     // something was predicted of it, or of another way, that cannot be

  // Whether a call that took `time` has waited for time-outs, which nobody expected.
  bool waited(base::Nanos time) const {
    const base::Nanos said = predicted > 0 ? predicted : seen.known();
    return said > 0 && Stalls::is_stall(time, said, stall);
  }
};

class Standings {
 public:
  // `limit`: the least time of a call that the links allow; 0: not known.
  Standings(const std::vector<Transport>& ways, base::Nanos limit);

  std::size_t size() const { return ways_.size(); }
  Candidate& operator[](std::size_t way) { return ways_[way]; }
  const Candidate& operator[](std::size_t way) const { return ways_[way]; }
  base::Nanos limit() const { return limit_; }
  void set_limit(base::Nanos limit) { limit_ = limit; }
  void set_librarys_own(std::size_t way) { librarys_ = way; }
  // The ways keep to the rates from which the limit is made.
  void keep_to_rates() { keep_to_rates_ = true; }
  void count_call() { ++calls_; }
  std::uint64_t calls() const { return calls_; }

  base::Nanos time(std::size_t way) const { return ways_[way].seen.time(); }
  // The fastest way seen in this trial. Precondition: one has been seen. Ways that are out do not
  // count: their times are old, while those of others follow what the hosts do.
  std::size_t fastest() const;
  // The time of the fastest.
  base::Nanos least() const;
  // Whether the best way takes at most `factor` times what the links need.
  bool within(double factor) const;
  bool at_limit() const;
  // A call has taken so much less than the limit that the limit must be wrong.
  bool refutes_limit() const;
  bool cannot_win(std::size_t way) const;
  bool contends(std::size_t way) const { return !ways_[way].out && !cannot_win(way); }
  bool librarys_own(std::size_t way) const {
    return way == librarys_ && ways_[way].transport == Transport::kMpi;
  }
  // Whether calls are short (TrialRules::kShort).
  bool is_short() const { return least() < TrialRules::kShort; }
  // Whether nobody knows whether calls of the way wait for time-outs. Predictions do, of a way that
  // should be clearly faster than those seen, while none that may wait has taken longer.
  bool risky(std::size_t way) const;
  bool seen_often(std::size_t way) const {
    return ways_[way].seen.count() >= TrialRules::kOneByOne;
  }
  // Rules out the ways that are clearly behind.
  void drop();
  // Whether all contenders are about equally fast.
  bool settled() const;

  // Whether another sighting of the way may change what is chosen.
  bool again(std::size_t way) const;
  // A way that was seen once and took long, or has to open connections first: the calls made so far
  // must pay.
  bool aside(std::size_t way) const;
  // Sightings of the way in a row, the next time; and the calls before them, which are none. 0: its
  // first call alone, which is no sighting and may stall.
  std::size_t run(std::size_t way) const;
  std::size_t leads(std::size_t way) const;
  // What one more call of the way costs beyond the best one's, in calls of the best.
  double expected(std::size_t way) const;
  // The cost of the way's next run, with its leads and the opening of connections.
  double cost(std::size_t way) const;

  bool has_predictions() const;
  std::size_t ways_seen() const;
  // Whether the program's first calls are hardly used for trying.
  bool trusts() const { return calls_ < TrialRules::kTrusting && predictions_hold(); }
  // The only sighting in this trial took much longer than predicted.
  bool surprised() const;

 private:
  bool librarys_seen() const;
  bool to_warm(std::size_t way) const;
  double opening(std::size_t way) const;
  bool predictions_hold() const;
  bool seems_late(std::size_t way) const;
  double between(std::size_t way) const;
  double foreseen(std::size_t way) const;

  std::vector<Candidate> ways_;
  std::size_t librarys_ = TrialRules::kLibrarys;  // the library's own way
  base::Nanos limit_;
  bool keep_to_rates_ = false;
  std::uint64_t calls_ = 0;  // made so far
};

// Whether a way that takes so many times as long as the best is clearly behind, after so many
// sightings of both.
bool clearly_behind(double times, std::size_t sightings, bool is_short);

// The way to choose of those seen in this trial: a way replaces one before it only if it is clearly
// faster. Nothing: none has been seen, or all are out.
std::optional<std::size_t> best_seen(const Standings& ways);

}  // namespace alm::tuning

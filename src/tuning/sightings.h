// What is known of the time of one way: the sightings of this trial, and what came before it.
// trial.h says what a sighting is.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/time.h"

namespace alm::tuning {

class Sightings {
 public:
  // The time of the way on which decisions rest: the mean of these sightings without the slowest.
  static base::Nanos time_by(std::vector<base::Nanos> seen);

  // The time from before this trial, from an earlier job; 0: not known.
  void know(base::Nanos time) { known_ = time; }
  base::Nanos known() const { return known_; }
  // It is the way of the very first call, which is no sighting.
  void began(bool in_trial) {
    began_ = true;
    started_ = started_ || in_trial;
  }
  // A sighting. `begins`: earlier ones no longer count.
  void add(base::Nanos time, bool begins);
  // A call that is no sighting: the first one of the way, or one that leads a run.
  void add_lead(base::Nanos time);
  // A trial begins anew, of what the way has been seen to take.
  void reopen();
  // It begins with this time, which was smoothed: it counts only while there is no other.
  void reopen_with(base::Nanos time) {
    seen_ = {time};
    begin_ = 0;
    unpaid_ = true;
  }

  // 0: not known yet.
  base::Nanos time() const {
    if (seen_.empty()) return known_;
    return time_by({seen_.begin() + begin_, seen_.end()});
  }
  // What is known of it in this trial: the time, or that of the first call.
  base::Nanos shown() const { return seen_.empty() ? first_ : time(); }
  std::size_t count() const { return seen_.size(); }
  bool none() const { return seen_.empty(); }
  // The time of its first call, if that is no sighting and was timed; 0: there is none.
  base::Nanos first() const { return first_; }
  // Whether its first call has been made, timed or not.
  bool called() const { return first_ != 0 || began_; }
  // Whether such a first call was made in this trial.
  bool started() const { return started_; }
  // Adds what the sightings of this trial and the calls that led them cost beyond as many calls of
  // the best way. The first sighting costs what it took, later ones what the way takes.
  void charge(base::Nanos best, double* spent) const;

 private:
  std::vector<base::Nanos> seen_;  // in this trial, as agreed on
  std::ptrdiff_t begin_ = 0;       // they count from here on
  base::Nanos known_ = 0;
  base::Nanos first_ = 0;
  bool began_ = false;
  bool started_ = false;
  std::size_t leads_ = 0;  // later calls in this trial that are no sightings
  bool unpaid_ = false;    // the first sighting was made before this trial
};

}  // namespace alm::tuning

// An earlier job, or a prediction, says that a way is the fastest that may stall. Another way is
// called first, and vouches for what is said by what it takes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/time.h"
#include "tuning/standings.h"

namespace alm::tuning {

class Vouching {
 public:
  // The way that the first calls take in place of `chosen`, whose calls may wait for much longer
  // than they are said to take. Where they may not, `chosen` itself. `adopted`: an earlier job has
  // chosen it.
  std::size_t begin(const Standings& ways, std::size_t chosen, bool adopted);
  // One of the ways cannot be called: nothing is vouched for.
  void end() { next_ = Next::kNothing; }

  // Whether the next sighting agreed on, or first call of the chosen way, is held against what is
  // said.
  bool waits() const { return next_ != Next::kNothing; }
  // `way` has taken `time`, on the slowest rank: whether what is said holds. Ranks come to the
  // first calls apart: that they take longer says nothing, that they take less than they can
  // refutes all that is said. A decision that holds is vouched for: the chosen way's first call is
  // looked at as well, and only a stall refutes it.
  bool holds(Standings& ways, std::size_t way, base::Nanos time);

 private:
  enum class Next : std::uint8_t { kNothing, kWitness, kFirstCall };

  Next next_ = Next::kNothing;
  bool adopted_ = false;
  std::size_t vouched_for_ = 0;
};

}  // namespace alm::tuning

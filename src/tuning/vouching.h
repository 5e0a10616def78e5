// An earlier job, or a prediction, says that a way is the fastest that may stall. Another way is
// called first, and vouches for what is said by what it takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/time.h"
#include "tuning/standings.h"

namespace alm::tuning {

class Vouching {
 public:
  // The way that the first call takes in place of `chosen`, whose calls may wait for much longer
  // than they are said to take. Where they may not, `chosen` itself. `adopted`: an earlier job has
  // chosen it.
  std::size_t begin(const Standings& ways, std::size_t chosen, bool adopted);

  // Whether the ranks must agree on the call just made.
  bool waits() const { return vouched_for_.has_value() || opens_; }
  // The chosen way cannot wait any longer; nothing: none does.
  std::optional<std::size_t> end() { return std::exchange(vouched_for_, std::nullopt); }

  enum class Verdict : std::uint8_t { kHolds, kRefuted, kStalled };
  // `witness` has taken `time`, on the slowest rank. The first call is cold, and ranks come to it
  // apart: that it takes longer says nothing, that it takes less than it can refutes all that is
  // said. A decision that holds is vouched for: its first call is looked at as well, and only a
  // stall refutes it. `witness` is set to the way that calls take from here on.
  Verdict judge(Standings& ways, std::size_t& witness, base::Nanos time);

 private:
  std::optional<std::size_t> vouched_for_;  // waits for the first call, which another way takes
  bool adopted_ = false;
  bool opens_ = false;  // the next call is the first of a way that another has vouched for
};

}  // namespace alm::tuning

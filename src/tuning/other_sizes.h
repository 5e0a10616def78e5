// What the calls of other sizes have shown of a way over TCP, for a size at which it has not been
// seen; and how long its calls may wait for time-outs.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "tuning/standings.h"

namespace alm::tuning {

// How long a call may be expected to wait for time-outs where every host sends `blocks` of `bytes`
// at once. 0 bytes: blocks are combined, and few packets are sent at once.
base::Nanos stall_of(std::uint64_t blocks, std::uint64_t bytes, double time_scale);

class OtherSizes {
 public:
  // `stall`: calls that take longer than the best by so much have waited for time-outs.
  OtherSizes(std::uint64_t bytes, base::Nanos stall) : bytes_(bytes), stall_(stall) {}

  // At this size the way has taken `time`, 0 if it was not seen, and the best way `best`.
  void add(std::uint64_t bytes, base::Nanos time, base::Nanos best);

  // By the nearest size that tells something.
  Heard heard() const { return heard_; }
  // Whether the way did not wait at a larger size.
  bool safe() const { return safe_; }

 private:
  std::uint64_t bytes_;
  base::Nanos stall_;
  Heard heard_;
  double nearest_ = 0;  // how many times larger or smaller
  bool safe_ = false;
};

}  // namespace alm::tuning

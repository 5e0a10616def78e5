// The estimate of the round trip and the time-out that follows from it (RFC 6298).
//
// As in Linux, the minimum bounds the part of the time-out that allows for variation: it is
// srtt + max(minimum, 4 rttvar), which is never below the minimum.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"
#include "tcp/config.h"

namespace alm::tcp {

class RoundTrip {
 public:
  // One sample, of a segment that was sent once (Karn's rule).
  void measure(base::Nanos sample) {
    least_ = std::min(least_, sample);
    latest_ = sample;
    if (smoothed_ == 0) {
      smoothed_ = sample;
      variation_ = sample / 2;
      return;
    }
    const base::Nanos apart = smoothed_ > sample ? smoothed_ - sample : sample - smoothed_;
    variation_ += (apart - variation_) / 4;
    smoothed_ += (sample - smoothed_) / 8;
  }
  bool known() const { return smoothed_ != 0; }
  base::Nanos smoothed() const { return smoothed_; }
  base::Nanos variation() const { return variation_; }
  base::Nanos least() const { return least_; }  // kNever: not known
  base::Nanos latest() const { return latest_; }

  // After `backoff` time-outs in a row.
  base::Nanos timeout(const Config& config, std::uint32_t backoff) const {
    base::Nanos out = config.rto_first;
    if (known()) out = smoothed_ + std::max(config.rto_min, 4 * variation_);
    for (; backoff > 0 && out < config.rto_max; --backoff) out *= 2;
    return std::min(out, config.rto_max);
  }

 private:
  base::Nanos smoothed_ = 0, variation_ = 0;
  base::Nanos least_ = base::kNever, latest_ = 0;
};

}  // namespace alm::tcp

// Tells whether a delay is long for a peer: more than 1.5 times the mean of all its paths.
#pragma once

#include "base/time.h"

namespace alm::paths {

class TypicalDelay {
 public:
  // Also adds `delay` to the mean.
  bool is_long(base::Nanos delay) {
    const auto value = static_cast<double>(delay);
    const bool is_long = mean_ > 0 && value > kLong * mean_;
    mean_ = mean_ > 0 ? mean_ + (value - mean_) / kMemory : value;
    return is_long;
  }

 private:
  static constexpr double kLong = 1.5, kMemory = 32;
  double mean_ = 0;
};

}  // namespace alm::paths

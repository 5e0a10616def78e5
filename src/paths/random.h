// Each train takes a path drawn at random.
#pragma once

#include <bit>

#include "base/mix.h"
#include "paths/policy.h"

namespace alm::paths {

class RandomPaths final : public PathPolicy {
 public:
  explicit RandomPaths(const PathSetup& setup) : state_(setup.seed) {}

  std::uint8_t choose(PathSet usable) override {
    auto skip = (draw() >> 32) * static_cast<std::uint64_t>(std::popcount(usable)) >> 32;
    for (; skip > 0; --skip) usable &= usable - 1;
    return static_cast<std::uint8_t>(std::countr_zero(usable));
  }

 private:
  std::uint64_t draw() { return base::mix(state_ += base::kGolden); }

  std::uint64_t state_;
};

}  // namespace alm::paths

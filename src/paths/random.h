// Each train takes a path drawn at random.
#pragma once

#include <bit>

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
  // SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
  std::uint64_t draw() {
    std::uint64_t x = state_ += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  }

  std::uint64_t state_;
};

}  // namespace alm::paths

// Every path carries the same part of each block: the next train takes the path that has carried
// the least of it.
#pragma once

#include <algorithm>
#include <bit>
#include <vector>

#include "paths/policy.h"

namespace alm::paths {

class EvenPaths final : public PathPolicy {
 public:
  explicit EvenPaths(const PathSetup& setup)
      : sent_(setup.paths), latest_(static_cast<std::uint8_t>(setup.seed % setup.paths)) {}

  void begin(std::uint8_t /*planned*/) override { std::fill(sent_.begin(), sent_.end(), 0); }
  std::uint8_t choose(PathSet usable) override {
    std::uint8_t best = latest_;
    std::uint32_t least = UINT32_MAX;
    std::uint8_t path = latest_;
    for (int left = std::popcount(usable); left > 0; --left) {
      path = next_path(usable, path);
      if (sent_[path] >= least) continue;
      least = sent_[path];
      best = path;
    }
    return latest_ = best;
  }
  void sent(std::uint8_t path) override { ++sent_[path]; }

 private:
  std::vector<std::uint32_t> sent_;  // packets of the block, by path
  std::uint8_t latest_;
};

}  // namespace alm::paths

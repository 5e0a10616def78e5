// The path by which the next packet is expected to arrive first: (packets under way on the path +
// 1) times its mean delay. Equal paths take turns. A slow path keeps its packets longer and so gets
// fewer; a path that is not used forgets its delay and is tried again.
#pragma once

#include <algorithm>
#include <bit>
#include <vector>

#include "paths/policy.h"

namespace alm::paths {

class LeastLoadedPath final : public PathPolicy {
 public:
  explicit LeastLoadedPath(const PathSetup& setup)
      : loads_(setup.paths), latest_(static_cast<std::uint8_t>(setup.seed % setup.paths)) {}

  std::uint8_t choose(PathSet usable) override {
    std::uint8_t best = latest_;
    double least = -1;
    std::uint8_t path = latest_;
    for (int left = std::popcount(usable); left > 0; --left) {
      path = next_path(usable, path);
      const Load& load = loads_[path];
      const double expected = (load.under_way + 1) * (load.delay > 0 ? load.delay : mean_);
      if (least >= 0 && expected >= least * kEqual) continue;
      least = expected;
      best = path;
    }
    return latest_ = best;
  }
  void sent(std::uint8_t path) override { ++loads_[path].under_way; }
  void delivered(std::uint8_t path, base::Nanos delay) override {
    left(path);
    const auto value = std::max(1.0, static_cast<double>(delay));
    Load& load = loads_[path];
    mean_ = mean_ > 0 ? mean_ + (value - mean_) / kMeanMemory : value;
    load.delay = load.delay > 0 ? load.delay + (value - load.delay) / kMemory : value;
    for (Load& other : loads_) {
      if (&other != &load && other.delay > 0) other.delay += (mean_ - other.delay) / kForgets;
    }
  }
  void lost(std::uint8_t path) override { left(path); }
  void gone(std::uint8_t path) override { left(path); }
  void timed_out(std::uint8_t path) override { loads_[path].under_way = 0; }

 private:
  static constexpr double kMemory = 4, kMeanMemory = 32, kForgets = 256;
  static constexpr double kEqual = 0.95;  // smaller differences count as equal
  struct Load {
    std::uint32_t under_way = 0;  // packets
    double delay = 0;             // in ns; 0: none seen
  };

  void left(std::uint8_t path) {
    if (loads_[path].under_way > 0) --loads_[path].under_way;
  }

  std::vector<Load> loads_;
  double mean_ = 0;  // delay of all paths, in ns
  std::uint8_t latest_;
};

}  // namespace alm::paths

// The path with the fewest packets on their way to this peer; among equals, in turn. A slow path
// keeps its packets longer and so gets fewer of them.
#pragma once

#include <bit>
#include <vector>

#include "transport/path_policy.h"

namespace alm::transport {

class LeastLoadedPath final : public PathPolicy {
 public:
  explicit LeastLoadedPath(const PathSetup& setup)
      : under_way_(setup.paths), latest_(static_cast<std::uint8_t>(setup.seed % setup.paths)) {}

  std::uint8_t choose(PathSet usable) override {
    std::uint8_t best = latest_;
    std::uint32_t least = UINT32_MAX;
    std::uint8_t path = latest_;
    for (int left = std::popcount(usable); left > 0; --left) {
      path = next_path(usable, path);
      if (under_way_[path] >= least) continue;
      least = under_way_[path];
      best = path;
    }
    return latest_ = best;
  }
  void sent(std::uint8_t path) override { ++under_way_[path]; }
  void delivered(std::uint8_t path, base::Nanos /*delay*/) override { left(path); }
  void lost(std::uint8_t path) override { left(path); }
  void gone(std::uint8_t path) override { left(path); }
  void timed_out(std::uint8_t path) override { under_way_[path] = 0; }

 private:
  void left(std::uint8_t path) {
    if (under_way_[path] > 0) --under_way_[path];
  }

  std::vector<std::uint32_t> under_way_;
  std::uint8_t latest_;
};

}  // namespace alm::transport

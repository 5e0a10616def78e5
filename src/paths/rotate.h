// Each train takes the path after that of the train before.
#pragma once

#include "paths/policy.h"

namespace alm::paths {

class RotatedPaths final : public PathPolicy {
 public:
  explicit RotatedPaths(const PathSetup& setup)
      : latest_(static_cast<std::uint8_t>(setup.seed % setup.paths)) {}

  std::uint8_t choose(PathSet usable) override { return latest_ = next_path(usable, latest_); }

 private:
  std::uint8_t latest_;
};

}  // namespace alm::paths

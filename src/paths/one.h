// Always the first path that answers: what a network without a choice does.
#pragma once

#include <bit>

#include "paths/policy.h"

namespace alm::paths {

class OnePath final : public PathPolicy {
 public:
  std::uint8_t choose(PathSet usable) override {
    return static_cast<std::uint8_t>(std::countr_zero(usable));
  }
};

}  // namespace alm::paths

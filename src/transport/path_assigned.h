// The path that the plan has for the peer (base::Rounds::paths). Where it does not answer, the
// trains rotate over the others.
#pragma once

#include "transport/path_policy.h"

namespace alm::transport {

class AssignedPath final : public PathPolicy {
 public:
  void begin(std::uint8_t planned) override { planned_ = planned; }
  std::uint8_t choose(PathSet usable) override {
    if ((usable & bit_of(planned_)) != 0) return planned_;
    return latest_ = next_path(usable, latest_);
  }

 private:
  std::uint8_t planned_ = 0, latest_ = 0;
};

}  // namespace alm::transport

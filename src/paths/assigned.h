// Follows the path that the plan has for the peer (base::Rounds::paths). If it has none, trains go
// as with least-loaded. If that path has not answered, trains go as with least-loaded, which also
// tries that path now and then, until packets come by it in good time again.
#pragma once

#include "paths/delay.h"
#include "paths/least_loaded.h"
#include "paths/policy.h"

namespace alm::paths {

class AssignedPath final : public PathPolicy {
 public:
  explicit AssignedPath(const PathSetup& setup) : others_(setup) {}

  void begin(std::uint8_t planned) override { planned_ = planned; }
  std::uint8_t choose(PathSet usable) override {
    const bool follows =
        planned_ != base::Rounds::kAnyPath && (usable & ~left_ & bit_of(planned_)) != 0;
    return follows ? planned_ : others_.choose(usable);
  }
  void sent(std::uint8_t path) override { others_.sent(path); }
  void delivered(std::uint8_t path, base::Nanos delay) override {
    others_.delivered(path, delay);
    if (!typical_.is_long(delay)) left_ &= ~bit_of(path);
  }
  void lost(std::uint8_t path) override { others_.lost(path); }
  void gone(std::uint8_t path) override { others_.gone(path); }
  void timed_out(std::uint8_t path) override {
    others_.timed_out(path);
    left_ |= bit_of(path);
  }

 private:
  LeastLoadedPath others_;
  TypicalDelay typical_;
  std::uint8_t planned_ = 0;
  PathSet left_ = 0;
};

}  // namespace alm::paths

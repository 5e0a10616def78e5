// Trains rotate over the paths without a penalty. A path gets a penalty when a packet on it is lost
// or takes long for this peer (delay.h), or when it does not answer: for 16 trains at first,
// each time for twice as many, at most 1024. A packet in good time halves the next penalty. If all
// paths have one, all are used.
#pragma once

#include <algorithm>
#include <vector>

#include "paths/delay.h"
#include "paths/policy.h"

namespace alm::paths {

class PenaltyBitmap final : public PathPolicy {
 public:
  explicit PenaltyBitmap(const PathSetup& setup)
      : penalties_(setup.paths), latest_(static_cast<std::uint8_t>(setup.seed % setup.paths)) {}

  std::uint8_t choose(PathSet usable) override {
    ++trains_;
    for (std::size_t path = 0; path < penalties_.size(); ++path) {
      if (penalties_[path].until <= trains_) penalised_ &= ~bit_of(static_cast<std::uint8_t>(path));
    }
    const PathSet good = usable & ~penalised_;
    return latest_ = next_path(good != 0 ? good : usable, latest_);
  }
  void delivered(std::uint8_t path, base::Nanos delay) override {
    if (delay_.is_long(delay)) return penalise(path);
    Penalty& penalty = penalties_[path];
    penalty.next = std::max(kFirst, penalty.next / 2);
  }
  void lost(std::uint8_t path) override { penalise(path); }
  void timed_out(std::uint8_t path) override { penalise(path); }

 private:
  static constexpr std::uint64_t kFirst = 16, kMost = 1024;
  struct Penalty {
    std::uint64_t until = 0;      // train
    std::uint64_t next = kFirst;  // in trains
  };

  // Packets that were on their way when a penalty began cause no other.
  void penalise(std::uint8_t path) {
    if ((penalised_ & bit_of(path)) != 0) return;
    penalised_ |= bit_of(path);
    Penalty& penalty = penalties_[path];
    penalty.until = trains_ + penalty.next;
    penalty.next = std::min(kMost, 2 * penalty.next);
  }

  std::vector<Penalty> penalties_;
  PathSet penalised_ = 0;
  std::uint64_t trains_ = 0;
  std::uint8_t latest_;
  TypicalDelay delay_;
};

}  // namespace alm::paths

// Good paths are used again. A packet that comes in good time puts its path into a ring; the next
// train takes the path that has been in the ring longest. While the ring is empty, paths are
// explored in turn. After a time-out nothing is explored for a while (a freeze): trains use paths
// of fresh packets, or those of the ring again and again.
//
// The idea is that of REPS (Bonato et al., "REPS: Recycled Entropy Packet Spraying for Adaptive
// Load Balancing and Failure Mitigation", 2024), which marks bad paths by ECN; here a delay that is
// long for this peer does (delay.h).
#pragma once

#include <array>

#include "paths/delay.h"
#include "paths/policy.h"

namespace alm::paths {

class RecycledPaths final : public PathPolicy {
 public:
  explicit RecycledPaths(const PathSetup& setup)
      : latest_(static_cast<std::uint8_t>(setup.seed % setup.paths)) {}

  std::uint8_t choose(PathSet usable) override {
    if (frozen_ > 0) --frozen_;
    for (; fresh_ > 0; --fresh_) {
      const std::uint8_t path = ring_[(end_ - fresh_) % kRing];
      if ((usable & bit_of(path)) == 0) continue;
      --fresh_;
      return path;
    }
    if (frozen_ > 0) {
      for (std::uint32_t i = 0; i < filled(); ++i) {
        const std::uint8_t path = ring_[reused_++ % filled()];
        if ((usable & bit_of(path)) != 0) return path;
      }
    }
    return latest_ = next_path(usable, latest_);
  }
  void delivered(std::uint8_t path, base::Nanos delay) override {
    if (delay_.is_long(delay)) return;
    ring_[end_++ % kRing] = path;
    if (fresh_ < kRing) ++fresh_;
  }
  void timed_out(std::uint8_t /*path*/) override { frozen_ = kFreezeTrains; }

 private:
  static constexpr std::uint32_t kRing = 16;
  static constexpr std::uint32_t kFreezeTrains = 256;
  std::uint32_t filled() const { return end_ < kRing ? end_ : kRing; }

  std::array<std::uint8_t, kRing> ring_{};
  std::uint32_t end_ = 0;     // entries ever written
  std::uint32_t fresh_ = 0;   // entries not used since, at most kRing
  std::uint32_t reused_ = 0;  // entries reused in freezes
  std::uint32_t frozen_ = 0;  // trains until paths are explored again
  std::uint8_t latest_;       // the path explored last
  TypicalDelay delay_;
};

}  // namespace alm::paths

// Whether packets are lost by chance: as many with small windows as with large ones, while packets
// are soon there.
//
// Queues that overflow lose fewer packets when windows are smaller. A link that loses packets by
// itself does not, and then small windows only cost time. So packets and losses are counted by the
// window that they were sent with, in powers of two. Windows smaller than the largest that has lost
// anything are held against that one: they must lose three quarters of its part at least. Eight
// losses of theirs must be known, so that chance is not shown by chance. Not counted is the first
// loss of each side: the largest window is the largest because it has lost one, and the smaller
// ones are looked at because they have. Nor is one that cuts the window: spans that end with a loss
// would show more than are lost.
//
// Small windows lose packets in queues that others fill, too. But there most packets wait.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace alm::clocks {

class Chance {
 public:
  void sent(std::uint32_t window) { ++of(window).sent; }
  // A packet that was sent with this window was lost, and that does not cut it.
  void lost(std::uint32_t window) {
    Count& count = of(window);
    if (++count.lost >= kForgetsAt) count = {.sent = count.sent / 2, .lost = count.lost / 2};
  }
  // At each loss: whether the latest packets were soon there.
  void trip(bool soon) { soon_ = std::clamp(soon_ + (soon ? 1 : -1), -kSoonMost, kSoonMost); }

  bool shown() const {
    if (soon_ <= 0) return false;
    Count small, large;
    for (const Count& count : counts_) {
      if (count.lost > 0) {
        small = {.sent = small.sent + large.sent, .lost = small.lost + large.lost};
        large = count;
      } else {
        small.sent += count.sent;
      }
    }
    return small.lost >= kLeast && kOf * small.part() >= kAtLeast * large.part();
  }

 private:
  struct Count {
    std::uint64_t sent = 0, lost = 0;
    double part() const {
      return lost > 1 ? static_cast<double>(lost - 1) / static_cast<double>(sent) : 0;
    }
  };
  static constexpr std::uint64_t kLeast = 8, kForgetsAt = 64;
  static constexpr double kAtLeast = 3, kOf = 4;
  static constexpr int kSoonMost = 4;

  Count& of(std::uint32_t window) {
    return counts_[std::min<std::size_t>(std::bit_width(window), counts_.size() - 1)];
  }

  std::array<Count, 16> counts_{};  // of windows of so many bits
  int soon_ = 0;                    // losses whose packets were soon there, more than others
};

}  // namespace alm::clocks

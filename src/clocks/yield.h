// How a rank's window yields to others in the queues.
//
// The window of the cluster file fills the queues by plan and loses nothing while nobody else uses
// them. So losses are evidence of others, and the window yields: two losses within 16 cycles of the
// schedule halve it, but never below one packet, and not again within a cycle, because losses in
// that time belong to the same full queue. After every 128 cycles without a loss it grows by an
// eighth of the full window. A single loss is forgiven: a pause of a host may cause it. All jobs
// that share a queue lose packets in proportion to what they send, cut by a factor and grow by an
// amount, which leads to equal shares (AIMD; docs/adr/0021-yielding-to-others.md).
//
// Cycles are counted in packets sent, so that nothing here depends on the speed of the network.
#pragma once

#include <algorithm>
#include <cstdint>

namespace alm::clocks {

class Yield {
 public:
  // An exchange begins. Its window is `full` packets while nobody else uses the queues; it sends
  // `cycle_packets` between two turns of a partner.
  void begin(std::uint32_t full, std::uint64_t cycle_packets) {
    window_ = yielding() ? std::min(window_, full) : full;
    full_ = full;
    cycle_ = std::max<std::uint64_t>(cycle_packets, full);
  }
  // A packet was sent for the first time.
  void sent() {
    if (doubt_left_ > 0) --doubt_left_;
    if (hold_left_ > 0) {
      --hold_left_;
    } else if (yielding() && ++quiet_ >= kQuietCycles * cycle_) {
      quiet_ = 0;
      window_ = std::min(full_, window_ + std::max(1u, full_ / kOpenPart));
    }
  }
  // A packet was lost. True: that has cut the window, at most down to `least` packets.
  bool lost(std::uint32_t least = 1) {
    if (window_ <= least) return false;
    quiet_ = 0;
    if (hold_left_ > 0) return false;
    const bool again = doubt_left_ > 0;
    doubt_left_ = kDoubtCycles * cycle_;
    if (!again) return false;
    hold_left_ = cycle_;
    const std::uint32_t before = window_;
    window_ = std::max(least, window_ / 2);
    return window_ < before;
  }
  void forget() { *this = Yield{}; }

  bool yielding() const { return window_ < full_; }
  std::uint32_t window() const { return window_; }
  std::uint32_t full() const { return full_; }

 private:
  static constexpr std::uint64_t kQuietCycles = 128, kDoubtCycles = 16;
  static constexpr std::uint32_t kOpenPart = 8;

  std::uint32_t full_ = 0, window_ = 0;
  std::uint64_t cycle_ = 1;       // in packets
  std::uint64_t quiet_ = 0;       // packets sent since the latest loss
  std::uint64_t hold_left_ = 0;   // packets to send before another cut
  std::uint64_t doubt_left_ = 0;  // packets to send until a loss counts as a first one again
};

}  // namespace alm::clocks

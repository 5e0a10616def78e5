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
// Where no cluster file says what queues hold, the full window is sought. It begins at what is safe
// almost anywhere, and follows what links need to be busy (clocks/pipe.h). It may lose packets
// without anybody else: a window that was cut was one too many, and what is one packet less counts
// as full. If links idle with that, it is an eighth larger after 16 cycles without a loss. If that
// is cut, it goes back to what it was, and the next attempt comes after twice as many cycles, up to
// 4096. What was under way at a cut is lost for the same reason.
//
// Losses are not by a queue that this rank fills where its window is small: it is not cut below an
// eighth of what links need to be busy. Nor where small windows lose as many as large ones, and
// packets are soon there (clocks/chance.h): then the window is again what links need, or what it
// began with, and losses do not cut that (docs/adr/0101-windows-that-losses-cannot-close.md).
//
// Cycles are counted in packets sent, so that nothing here depends on the speed of the network.
#pragma once

#include <algorithm>
#include <cstdint>

#include "clocks/chance.h"

namespace alm::clocks {

class Yield {
 public:
  // `seeks_from`: the first full window, where it is sought; 0: it is known.
  explicit Yield(std::uint32_t seeks_from = 0) : seeks_from_(seeks_from), found_(seeks_from) {}

  // An exchange begins. Its window is `full` packets while nobody else uses the queues; it sends
  // `cycle_packets` between two turns of a partner.
  void begin(std::uint32_t full, std::uint64_t cycle_packets) {
    asked_ = full;
    if (found_ > 0) full = std::min(full, found_);
    window_ = yielding() ? std::min(window_, full) : full;
    full_ = full;
    cycle_ = std::max<std::uint64_t>(cycle_packets, full);
  }
  // A packet was sent for the first time.
  void sent() {
    if (seeks_from_ > 0 && hold_left_ == 0) chance_.sent(window_);
    if (doubt_left_ > 0) --doubt_left_;
    if (hold_left_ > 0) {
      --hold_left_;
    } else if (yielding() && ++quiet_ >= kQuietCycles * cycle_) {
      quiet_ = 0;
      window_ = std::min(full_, window_ + std::max(1u, full_ / kOpenPart));
    } else if (!yielding() && full_ < std::min(asked_, busy_) &&
               ++quiet_ >= (kSeekCycles << failures_) * cycle_) {
      quiet_ = 0;
      if (attempted_) failures_ = 0;  // the attempt before was good
      attempted_ = true;
      good_ = full_;
      found_ = full_ = std::min({asked_, busy_, full_ + std::max(1u, full_ / kOpenPart)});
      window_ = full_;
    }
  }
  // A packet was lost. True: that has cut the window, at most down to `least` packets. `soon`: the
  // latest packets were soon there, so that few waited in queues.
  bool lost(std::uint32_t least = 1, bool soon = false) {
    if (seeks_from_ == 0) return cut(least);
    const bool held = hold_left_ > 0;
    const std::uint32_t window = window_;
    chance_.trip(soon);
    if (!held && chance_.shown()) {
      open();
      least = open_window();
    }
    const bool was_cut = cut(std::max(least, busy_ / kLeastPart));
    if (!held && !was_cut) chance_.lost(window);
    return was_cut;
  }
  // Links idle with less than this. Until a loss has cut the full window, it follows.
  void needs(std::uint32_t packets) {
    if (seeks_from_ == 0 || packets <= busy_) return;
    busy_ = std::min(asked_, packets);
    if (!cut_ && !yielding()) found_ = window_ = full_ = std::max(full_, busy_);
  }
  // The full window is this from now on (clocks/climb.h).
  void set(std::uint32_t packets) {
    if (seeks_from_ == 0) return;
    attempted_ = false;
    found_ = window_ = full_ = busy_ = std::min(asked_, packets);
  }
  // Nothing is known of others any more. What was found of the queues stays.
  void forget() {
    const Yield before = *this;
    *this = Yield(before.seeks_from_);
    found_ = before.found_;
    failures_ = before.failures_;
    busy_ = before.busy_;
    cut_ = before.cut_;
    chance_ = before.chance_;
  }

  bool yielding() const { return window_ < full_; }
  std::uint32_t window() const { return window_; }
  std::uint32_t full() const { return full_; }
  // The window where losses are by chance.
  std::uint32_t open_window() const { return std::min(asked_, std::max(seeks_from_, busy_)); }
  bool was_cut() const { return cut_; }           // the full window, once
  std::uint32_t asked() const { return asked_; }  // the most that the full window may be

 private:
  bool cut(std::uint32_t least) {
    if (window_ <= least) return false;
    quiet_ = 0;
    if (hold_left_ > 0) return false;
    const bool again = doubt_left_ > 0;
    doubt_left_ = kDoubtCycles * cycle_;
    if (!again) return false;
    const std::uint32_t before = window_;
    hold_left_ = cycle_ + (seeks_from_ > 0 ? 2 * before : 0);
    window_ = std::max(least, attempted_ ? std::min(good_, before - 1) : before / 2);
    if (seeks_from_ > 0 && window_ < before) miss(before);
    return window_ < before;
  }
  void open() {
    if (open_window() > window_) hold_left_ = cycle_ + 2 * open_window();
    window_ = full_ = found_ = std::max(full_, open_window());
  }
  void miss(std::uint32_t window) {
    cut_ = true;
    if (attempted_) failures_ = std::min(failures_ + 1, kFailuresMax);
    found_ = full_ = attempted_ ? window_ : std::max(window_, window - 1);
    attempted_ = false;
  }

  static constexpr std::uint64_t kQuietCycles = 128, kDoubtCycles = 16, kSeekCycles = 16;
  static constexpr std::uint32_t kOpenPart = 8, kLeastPart = 8;
  static constexpr std::uint32_t kFailuresMax = 8;

  std::uint32_t seeks_from_ = 0;
  bool cut_ = false;
  Chance chance_;
  std::uint32_t busy_ = 0;  // links idle with less, as far as is known
  std::uint32_t asked_ = 0;
  std::uint32_t found_ = 0;     // the full window as far as it is found; 0: it is known
  std::uint32_t failures_ = 0;  // of attempts at a larger one, in a row
  bool attempted_ = false;      // the full window is such an attempt
  std::uint32_t good_ = 0;      // the full window before it
  std::uint32_t full_ = 0, window_ = 0;
  std::uint64_t cycle_ = 1;       // in packets
  std::uint64_t quiet_ = 0;       // packets sent since the latest loss
  std::uint64_t hold_left_ = 0;   // packets to send before another cut
  std::uint64_t doubt_left_ = 0;  // packets to send until a loss counts as a first one again
};

}  // namespace alm::clocks

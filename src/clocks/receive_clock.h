// What has come makes room for what is sent (000 Alg 2): eta rises with each packet sent for the
// first time and falls with each new packet received, and a packet may be sent while eta is below
// the window.
//
// eta is clamped at 0. What a rank that is behind received before it sent is banked, and given back
// one packet for every second arrival, never as a burst. A bank of one window is too small: a rank
// that has paused for longer stays behind for good, and at the end of the exchange sends alone over
// an uplink made for several (ADR 6). While the window yields there is no bound, and with a window
// of one packet, where eta is never more than that, what is given back is a packet beyond it: what
// stays in the bank is missing on the way, until nobody may send.
#pragma once

#include <algorithm>
#include <cstdint>

namespace alm::clocks {

class ReceiveClock {
 public:
  void begin() {
    eta_ = banked_ = 0;
    spare_ = false;
  }
  bool allows(std::uint32_t window) const { return eta_ < window || spare_; }
  void sent(std::uint32_t window) {
    if (eta_ >= window && spare_) {
      spare_ = false;
    } else {
      ++eta_;
    }
  }
  void came(std::uint32_t window, bool yields) {
    if (eta_ == 0) {
      ++banked_;
      if (!yields) banked_ = std::min(banked_, kBankWindows * window);
      return;
    }
    --eta_;
    if (banked_ == 0 || (eta_ == 0 && (window > 1 || spare_))) return;
    bank_turn_ = !bank_turn_;
    if (!bank_turn_) return;
    if (eta_ == 0) {
      spare_ = true;
    } else {
      --eta_;
    }
    --banked_;
  }

  std::uint32_t eta() const { return eta_; }
  std::uint32_t banked() const { return banked_; }

  static constexpr std::uint32_t kBankWindows = 4;

 private:
  std::uint32_t eta_ = 0;
  std::uint32_t banked_ = 0;
  bool bank_turn_ = false;
  bool spare_ = false;  // one packet from the bank may be sent beyond the window
};

}  // namespace alm::clocks

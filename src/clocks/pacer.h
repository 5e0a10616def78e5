// A token bucket in user space, for hosts whose kernel gives no back-pressure (virtio, plain veth,
// many containers), in its virtual-time form (GCRA). `theoretical_` is when the link would have
// sent everything so far; a packet may go while that is at most one burst ahead of now.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"

namespace alm::clocks {

class Pacer {
 public:
  Pacer() = default;
  // One per cent above the link's rate, so that the link and not the pacer is the limit.
  Pacer(double rate_mbit_s, std::uint32_t burst_bytes)
      : nanos_per_byte_(rate_mbit_s > 0 ? 8000.0 / (rate_mbit_s * 1.01) : 0),
        burst_(static_cast<base::Nanos>(nanos_per_byte_ * burst_bytes)) {}

  bool enabled() const { return nanos_per_byte_ > 0; }
  // When half of the burst is free again: one wake-up serves several packets, and a sleeper may be
  // late by the other half.
  base::Nanos allowed_at() const { return theoretical_ - burst_ / 2; }

  // Bytes that may go now.
  std::uint64_t room_bytes(base::Nanos now) const {
    const base::Nanos ahead = std::max<base::Nanos>(0, theoretical_ - now);
    return ahead >= burst_
               ? 0
               : static_cast<std::uint64_t>(static_cast<double>(burst_ - ahead) / nanos_per_byte_);
  }

  void sent(base::Nanos now, std::uint64_t bytes) {
    theoretical_ = std::max(theoretical_, now) + nanos(bytes) + 1;
    // While the kernel gives back-pressure the debt means nothing. Keep it small, so that pacing
    // later does not begin with a long pause.
    theoretical_ = std::min(theoretical_, now + 2 * burst_ + nanos(65'536));
  }

 private:
  base::Nanos nanos(std::uint64_t bytes) const {
    return static_cast<base::Nanos>(nanos_per_byte_ * static_cast<double>(bytes));
  }

  double nanos_per_byte_ = 0;
  base::Nanos burst_ = 0;
  base::Nanos theoretical_ = 0;
};

}  // namespace alm::clocks

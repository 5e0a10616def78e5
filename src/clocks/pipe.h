// How many packets the window must be so that links do not idle, where no cluster file says it.
//
// That is what fits the way to the others: the round trip, divided by the time from one packet to
// the next, and some packets for the queues that frames pass (a link that stores frames before it
// forwards them holds one). The round trip must be that of an idle network, because what the window
// itself puts into queues would make the window larger, without end. The time from one packet to
// the next is measured over a few windows. Where the window is too small for the way, that time is
// its own doing, a window's worth in a trip; so the window about doubles with each measurement,
// until links are busy.
//
// The first packets of an exchange, and those after the window has grown, leave at once and say
// nothing of the links; they are left out.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/time.h"

namespace alm::clocks {

class Pipe {
 public:
  // `least`: the window for a way without latency, in packets. `idle_round_trip`: 0: not known.
  explicit Pipe(std::uint32_t least = 0, base::Nanos idle_round_trip = 0)
      : least_(least), idle_round_trip_(idle_round_trip) {}

  // An exchange begins. It sends `cycle_packets` between two turns of a partner.
  void begin(std::uint64_t cycle_packets) {
    cycle_ = cycle_packets;
    window_ = 0;
  }
  // A packet was sent for the first time, by a window of so many. `round_trip`: the shortest that
  // exchanges have seen; 0: none yet. From time to time: the window that keeps links busy.
  std::optional<std::uint32_t> sent(base::Nanos now, std::uint32_t window, base::Nanos round_trip) {
    if (window != window_) {
      window_ = window;
      waits_ = std::max<std::uint64_t>(cycle_, window);
    }
    if (waits_ > 0) {
      if (--waits_ == 0) restart(now);
      return std::nullopt;
    }
    if (++sent_ < std::max(cycle_, 2 * std::uint64_t{window})) return std::nullopt;
    const auto each = std::max<base::Nanos>(1, (now - at_) / static_cast<base::Nanos>(sent_));
    restart(now);
    // What exchanges see holds their own queues: a window's worth on both ways.
    const base::Nanos trip = idle_round_trip_ > 0 ? idle_round_trip_ : round_trip / 2;
    if (trip == 0) return std::nullopt;
    return least_ + static_cast<std::uint32_t>(std::min((trip + each - 1) / each, kMost));
  }

 private:
  static constexpr base::Nanos kMost = 1u << 20;

  void restart(base::Nanos now) {
    at_ = now;
    sent_ = 0;
  }

  std::uint32_t least_;
  base::Nanos idle_round_trip_;
  std::uint64_t cycle_ = 1;
  std::uint32_t window_ = 0;  // 0: an exchange begins
  std::uint64_t waits_ = 0;   // packets to send before a span begins
  std::uint64_t sent_ = 0;    // packets of the span
  base::Nanos at_ = 0;        // its begin
};

}  // namespace alm::clocks

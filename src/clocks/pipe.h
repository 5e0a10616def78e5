// How many packets the window must be so that links do not idle, where no cluster file says it.
//
// That is what the links to the others hold: the time of a full packet to another host and of a
// short answer, divided by the time from one packet to the next. (Windows move with what comes, so
// that one way would do.) The round trip must be that of an idle network, because what the window
// itself puts into queues would make the window larger, without end. The time from one packet to
// the next is measured over a few windows. Where the window is too small for that, the time is its
// own doing, a window's worth in a trip; so the window about doubles with each measurement, until
// links are busy. A rank that was kept from sending sends more at once for a while: two spans in a
// row must tell the same.
//
// The first packets of an exchange, and those after the window has grown, leave at once and say
// nothing of the links; they are left out. Exchanges that end before that are measured as a whole,
// which makes the time longer than the links do, never shorter.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/time.h"

namespace alm::clocks {

class Pipe {
 public:
  // `idle_round_trip`: of a full packet and a short answer; 0: not known.
  explicit Pipe(base::Nanos idle_round_trip = 0) : idle_round_trip_(idle_round_trip) {}

  // An exchange begins. It sends `cycle_packets` between two turns of a partner.
  void begin(base::Nanos now, std::uint64_t cycle_packets) {
    began_ = now;
    all_sent_ = 0;
    cycle_ = cycle_packets;
    window_ = 0;
  }
  // A packet was sent for the first time, by a window of so many. `round_trip`: the shortest that
  // exchanges have seen; 0: none yet. From time to time: the window that keeps links busy.
  std::optional<std::uint32_t> sent(base::Nanos now, std::uint32_t window, base::Nanos round_trip) {
    ++all_sent_;
    if (window != window_) {
      window_ = window;
      before_ = std::nullopt;
      waits_ = std::max<std::uint64_t>(cycle_, window);
    }
    if (waits_ > 0) {
      if (--waits_ == 0) restart(now);
      return std::nullopt;
    }
    if (++sent_ < std::max(cycle_, 2 * std::uint64_t{window})) return std::nullopt;
    const auto needs = window_for(now - at_, sent_, round_trip);
    restart(now);
    const auto before = std::exchange(before_, needs);
    return before && needs ? std::optional(std::min(*before, *needs)) : std::nullopt;
  }
  // The exchange is over.
  std::optional<std::uint32_t> end(base::Nanos now, base::Nanos round_trip) {
    if (all_sent_ <= window_) return std::nullopt;  // it has not waited for the window
    return window_for(now - began_, all_sent_, round_trip);
  }

 private:
  static constexpr base::Nanos kMost = 1u << 20;

  std::optional<std::uint32_t> window_for(base::Nanos took, std::uint64_t packets,
                                          base::Nanos round_trip) const {
    // What exchanges see holds their own queues: a window's worth on both ways. But those who were
    // asked may be farther away than these peers.
    base::Nanos trip = round_trip / 2;
    if (idle_round_trip_ > 0) {
      trip = round_trip > 0 ? std::min(idle_round_trip_, round_trip) : idle_round_trip_;
    }
    if (trip == 0) return std::nullopt;
    const auto each = std::max<base::Nanos>(1, took / static_cast<base::Nanos>(packets));
    return static_cast<std::uint32_t>(std::min((trip + each - 1) / each, kMost));
  }
  void restart(base::Nanos now) {
    at_ = now;
    sent_ = 0;
  }

  base::Nanos idle_round_trip_;
  std::uint64_t cycle_ = 1;
  std::uint32_t window_ = 0;             // 0: an exchange begins
  std::uint64_t waits_ = 0;              // packets to send before a span begins
  std::uint64_t sent_ = 0;               // packets of the span
  base::Nanos at_ = 0;                   // its begin
  std::optional<std::uint32_t> before_;  // what the span before it needed, with this window
  base::Nanos began_ = 0;                // the exchange
  std::uint64_t all_sent_ = 0;
};

}  // namespace alm::clocks

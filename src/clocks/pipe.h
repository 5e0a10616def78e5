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
// but for the way of the last packet, which makes the time longer than the links do, never shorter.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/time.h"
#include "clocks/seen_trips.h"

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
  // A packet was sent for the first time, by a window of so many. From time to time: the window
  // that keeps links busy.
  std::optional<std::uint32_t> sent(base::Nanos now, std::uint32_t window, const SeenTrips& seen) {
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
    const auto needs = window_for(now - at_, sent_, seen);
    restart(now);
    const auto before = std::exchange(before_, needs);
    return before && needs ? std::optional(std::min(*before, *needs)) : std::nullopt;
  }
  // The exchange is over.
  std::optional<std::uint32_t> end(base::Nanos now, const SeenTrips& seen) {
    if (all_sent_ <= window_) return std::nullopt;  // it has not waited for the window
    // For one way nothing left any more: the last packet was under way.
    const auto needs = window_for(now - began_ - trip(seen) / 2, all_sent_, seen);
    if (!needs) return std::nullopt;
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(*needs, all_sent_));
  }

 private:
  static constexpr base::Nanos kMost = 1u << 20;

  // Of the idle network, as far as is known. What exchanges see holds their own queues: a window's
  // worth on both ways. But those who were asked may be farther away than any of these peers.
  base::Nanos trip(const SeenTrips& seen) const {
    if (idle_round_trip_ == 0) return seen.nearest / 2;
    return seen.farthest > 0 ? std::min(idle_round_trip_, seen.farthest) : idle_round_trip_;
  }

  std::optional<std::uint32_t> window_for(base::Nanos took, std::uint64_t packets,
                                          const SeenTrips& seen) const {
    const base::Nanos there_and_back = trip(seen);
    if (there_and_back == 0) return std::nullopt;
    const auto each = std::max<base::Nanos>(1, took / static_cast<base::Nanos>(packets));
    return static_cast<std::uint32_t>(std::min((there_and_back + each - 1) / each, kMost));
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

// What a cluster file says of the time to the others and back, held against exchanges.
//
// A window that is too small for the links leaves them idle, and nothing but the file says what is
// too small. Two things together show that the file is wrong: exchanges take clearly longer than
// they do with that window on the file's links, without a loss; and even the shortest time in which
// the farthest peer has answered is longer than the file's links, and a window's packets in queues
// both ways, would make it. Either alone says little: any rank may be late, and who leaves no link
// idle has nothing to win.
//
// Acknowledgements that ride on data wait for their turn, and for late ranks. Where they take that
// long the farthest peer is asked, and what counts is its answer, which leaves at once: a few
// times, because a processor may be busy once.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "base/time.h"
#include "clocks/seen_trips.h"

namespace alm::clocks {

class TripClaim {
 public:
  TripClaim() = default;
  // `round_trip`: to the farthest peer, by the file. `packet`: the time from one packet of a rank
  // to the next while the narrowest link is busy; 0: not known, and there is no claim. `waking`:
  // what an idle host may take to answer.
  TripClaim(base::Nanos round_trip, base::Nanos packet, base::Nanos waking)
      : round_trip_(round_trip), packet_(packet), waking_(waking) {}

  // An exchange in which all ranks sent so many packets, with this window, took so long, lost
  // nothing, and did not yield to others, whose packets in queues are no distance.
  void exchanged(base::Nanos took, std::uint64_t packets, std::uint32_t window,
                 const SeenTrips& seen) {
    if (packet_ <= 0 || packets <= window) return;
    const auto needs =
        static_cast<double>(packets) * static_cast<double>(packet_) +
        std::ceil(static_cast<double>(packets) / window) * static_cast<double>(round_trip_);
    if (static_cast<double>(took) < kClearly * needs) return;
    const base::Nanos queued = 2 * static_cast<base::Nanos>(window) * packet_;  // on both ways
    const base::Nanos least = std::max(kTimesAsLong * round_trip_, round_trip_ + queued + waking_);
    asks_ = seen.farthest >= least && questions_ < kQuestions;
    contradicted_ = seen.answered >= least ? contradicted_ + 1 : 0;
  }
  // Whether the farthest peer is to be asked in the next exchange. Once after each.
  bool take_question() {
    if (!std::exchange(asks_, false)) return false;
    ++questions_;
    return true;
  }
  bool refuted() const { return contradicted_ >= kTimes; }

 private:
  // Times what it takes with the file's links: to send all, and to wait for answers after each
  // window.
  static constexpr double kClearly = 1.5;
  static constexpr base::Nanos kTimesAsLong = 2;
  static constexpr std::uint32_t kTimes = 2, kQuestions = 8;

  base::Nanos round_trip_ = 0, packet_ = 0, waking_ = 0;
  std::uint32_t contradicted_ = 0;  // exchanges in a row, of those that leave links idle
  std::uint32_t questions_ = 0;
  bool asks_ = false;
};

}  // namespace alm::clocks

// How far away each peer is, by the shortest times in which it has acknowledged and answered, and
// whom to ask.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/time.h"
#include "clocks/seen_trips.h"

namespace alm::clocks {

class PeerTrips {
 public:
  explicit PeerTrips(std::size_t peers) : trips_(peers) {}

  // An acknowledgement of this peer came after so long.
  void carried(std::uint32_t peer, base::Nanos took) {
    base::Nanos& known = trips_[peer].carried;
    known = known == 0 ? took : std::min(known, took);
  }
  // .. and nothing held it back: the peer was asked.
  void answered(std::uint32_t peer) { trips_[peer].answers = true; }

  // An exchange is over: from now on seen() counts what it has shown. `asks`: the farthest peer is
  // to be asked.
  void end(bool asks) {
    seen_ = {};
    std::uint32_t farthest = 0;
    for (std::uint32_t peer = 0; peer < trips_.size(); ++peer) {
      // It may have answered late once, and acknowledged sooner since.
      if (trips_[peer].answers) seen_.answered = std::max(seen_.answered, trips_[peer].carried);
      if (trips_[peer].carried <= seen_.farthest) continue;
      seen_.farthest = trips_[peer].carried;
      farthest = peer;
    }
    if (asks && seen_.farthest > 0) asks_ = farthest;
  }
  // `nearest`: the round trip of the nearest peer.
  SeenTrips seen(base::Nanos nearest) const { return {nearest, seen_.farthest, seen_.answered}; }

  // Whether this peer is to be asked.
  bool asks(std::uint32_t peer) const { return asks_ == peer; }
  void asked() { asks_ = std::nullopt; }

 private:
  struct Trip {
    base::Nanos carried = 0;  // 0: none yet
    bool answers = false;
  };

  std::vector<Trip> trips_;
  SeenTrips seen_;
  std::optional<std::uint32_t> asks_;
};

}  // namespace alm::clocks

// Peers from which nothing comes while this rank waits for them: a warning after
// Config::peer_warning, once per silence, and a failure after Config::peer_timeout. Time in which
// nobody read what arrived does not count.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/time.h"
#include "transport/config.h"
#include "transport/peer.h"

namespace alm::transport {

class Silence {
 public:
  explicit Silence(const Config& config)
      : warning_(config.peer_warning), timeout_(config.peer_timeout) {}

  void was_deaf(base::Nanos time) { deaf_ += time; }
  void begin(base::Nanos now) {
    listening_since_ = listened(now);
    next_look_ = now;
  }
  void heard(base::Nanos now, Peer* peer) const {
    peer->heard = listened(now);
    peer->warned = false;
  }
  // A peer has told that it has given up, because the rank with this number is lost.
  void told(base::Nanos now, PeerId peer, std::uint32_t number) {
    if (told_) return;
    told_ = PeerFailure{.peer = peer, .silent = 0, .fatal = true, .told = number};
    next_look_ = now;
  }
  const std::optional<PeerFailure>& told() const { return told_; }

  // Whether to look at the peers now.
  bool looks(base::Nanos now) const { return now >= next_look_; }
  void looked(base::Nanos now) { next_look_ = now + kLookEvery; }
  // What is to be said of a peer that this rank waits for.
  std::optional<PeerFailure> judge(base::Nanos now, PeerId id, Peer* peer) const {
    const base::Nanos silent = listened(now) - std::max(peer->heard, listening_since_);
    const bool fatal = silent >= timeout_;
    if (!fatal && (peer->warned || silent < warning_)) return std::nullopt;
    peer->warned = true;
    return PeerFailure{id, silent, fatal};
  }

 private:
  static constexpr base::Nanos kLookEvery = 50 * base::kMillisecond;

  base::Nanos listened(base::Nanos now) const { return now - deaf_; }

  base::Nanos deaf_ = 0;             // total time in which nobody read what arrived
  base::Nanos listening_since_ = 0;  // when the exchange started, in time listened
  base::Nanos next_look_ = 0;
  base::Nanos warning_, timeout_;
  std::optional<PeerFailure> told_;
};

}  // namespace alm::transport

// The paths to all peers, where this rank sends by several: which one a datagram takes, and what an
// acknowledgement tells of each of them (paths/peer_paths.h). With one path this holds nothing.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/rounds.h"
#include "base/time.h"
#include "paths/peer_paths.h"
#include "transport/config.h"
#include "transport/peer.h"
#include "wire/control.h"

namespace alm::transport {

class ManyPaths {
 public:
  ManyPaths(const Config& config, PeerId self, std::uint32_t peers);

  bool any() const { return !paths_.empty(); }
  paths::PeerPaths& of(PeerId id) { return paths_[id]; }
  const paths::PeerPaths& of(PeerId id) const { return paths_[id]; }

  void begin(const base::Rounds& rounds, const std::vector<Peer>& peers);
  void end() {
    for (paths::PeerPaths& paths : paths_) paths.end();
  }
  void abandon() {
    for (paths::PeerPaths& paths : paths_) paths.abandon();
  }

  // Precondition of what follows: any().
  // The path of a packet of the running exchange that is sent for the first time.
  std::uint8_t take(base::Nanos now, PeerId id, std::uint32_t packet);
  // The path of a resend. `silent`: it is resent because its path is silent.
  std::uint8_t take_again(base::Nanos now, PeerId id, bool tail, std::uint32_t packet,
                          bool* silent);
  // An acknowledgement has come that leaves the block in this state.
  void settle(base::Nanos now, PeerId id, bool tail, const SendWindow& window,
              const wire::AckBody* body);
  // The answer to the latest probe has come. `after`: how long to wait for an answer. Returns how
  // many paths have become silent.
  std::uint64_t answered(base::Nanos now, PeerId id, bool tail, base::Nanos after);
  // Since when the peer owes a sign of life: the packet that is missed longest, and at least the
  // last probe. kNever: nothing is under way.
  base::Nanos quiet_since(PeerId id) const {
    const base::Nanos since =
        std::min(paths_[id].waiting_since(false), paths_[id].waiting_since(true));
    return since == base::kNever ? since : std::max(since, paths_[id].probed_at());
  }
  std::size_t bytes() const {
    std::size_t bytes = 0;
    for (const paths::PeerPaths& paths : paths_) bytes += paths.bytes();
    return bytes;
  }

 private:
  std::vector<paths::PeerPaths> paths_;  // by peer; empty: one path
  PeerId self_;
  std::uint32_t grain_;
  bool assigned_;
  base::Nanos longest_rest_;      // of a silent path
  PeerId train_peer_ = 0;         // the peer that was sent to last
  std::uint32_t small_turn_ = 0;  // which path small blocks take in the next exchange
};

}  // namespace alm::transport

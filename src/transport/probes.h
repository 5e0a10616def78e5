// Questions to peers: a probe asks what has come of what was sent. It takes the place of a packet
// in a queue, so probes to all peers at once leave no closer together than packets.
#pragma once

#include <cstdint>
#include <optional>

#include "base/peer_queue.h"
#include "base/time.h"
#include "transport/config.h"
#include "transport/peer.h"

namespace alm::transport {

class Probes {
 public:
  void begin() { asked_all_ = false; }
  void abandon() { queue_.clear(); }

  void queue(PeerId id, Peer* peer) {
    if (peer->probe_queued) return;
    peer->probe_queued = true;
    queue_.push_back(id);
  }
  bool queued() const { return !queue_.empty(); }
  PeerId take() { return queue_.take(); }
  // All peers are asked once in an exchange. False: that has been done.
  bool ask_all() {
    if (asked_all_) return false;
    return asked_all_ = true;
  }

  base::Nanos next_at() const { return next_at_; }  // no probe of many leaves before
  // A probe leaves; `spacing`: what its place in the queue takes. `tail`: it asks about the tail,
  // of which, or of the block, so much has been sent.
  void sent(base::Nanos now, Peer* peer, Aside* aside, bool tail, std::uint32_t next,
            base::Nanos spacing) {
    const bool same_question =
        peer->probe_next == next && peer->probe_of_tail == tail && !peer->resent_since_probe;
    if (++peer->probe_number == 0) peer->probe_number = 1;  // 0 means no probe
    if (!same_question) aside->probed_since = peer->probe_number;
    peer->probe_next = next;
    peer->probe_of_tail = tail;
    peer->resent_since_probe = false;
    if (aside->asked == 0) {
      aside->asked = peer->probe_number;
      aside->asked_at = now;
    }
    peer->quiet_since = peer->wait_since = now;
    if (peer->backoff < kUnansweredMost) ++peer->backoff;
    next_at_ = now + spacing;
  }

  // Whether `echo` answers the latest probe, or an earlier one since which nothing was sent, which
  // says as much. If both ends ask, the next probe may always leave before the answer to the last
  // comes.
  static bool answers(const Peer& peer, const Aside& aside, bool tail, std::uint32_t echo) {
    const std::uint32_t before = peer.probe_number - aside.probed_since;
    return echo != 0 && peer.probe_of_tail == tail && peer.probe_number - echo <= before;
  }
  // The time that an answer took; nothing: it was not timed. Only the first of several probes is:
  // if answers took longer than estimated, timing later probes would measure only the quick ones.
  static std::optional<base::Nanos> took(base::Nanos now, const Peer& peer, Aside* aside,
                                         std::uint32_t echo) {
    const bool timed = aside->asked != 0 && echo == aside->asked;
    if (peer.probe_number - echo <= peer.probe_number - aside->asked) aside->asked = 0;
    return timed ? std::optional(now - aside->asked_at) : std::nullopt;
  }

 private:
  static constexpr std::uint8_t kUnansweredMost = 10;

  base::PeerQueue queue_;
  base::Nanos next_at_ = 0;
  bool asked_all_ = false;
};

}  // namespace alm::transport

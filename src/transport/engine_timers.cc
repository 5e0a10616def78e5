// Timers are lazy: next_timer_ is a lower bound for the earliest one; when it passes, all peers are
// looked at and it is computed anew. Activity only moves timers later, so it costs nothing per
// packet.
#include <algorithm>

#include "transport/engine.h"

namespace alm::transport {
namespace {

// So many packets fit any receive buffer.
constexpr std::uint64_t kGatherPacketsMax = 64;

}  // namespace

// How long an answer of this peer is waited for; nothing is known: for ever.
base::Nanos Engine::patience(PeerId id) const {
  if (!delays_.answers().known() || paths_.any() || rounds_->steps > 0) return base::kNever / 2;
  return delays_.patience(asides_[id].answered_in);
}

// Where this exchange loses by itself, who has sent asks early. What was sent again is answered at
// once, and so is a probe; all else when there is data that carries the answer.
base::Nanos Engine::probe_delay(PeerId id) const {
  const Peer& peer = peers_[id];
  base::Nanos first = delays_.probe(numbers_.running(), congestion_.yielding());
  if (numbers_.running() && congestion_.loses_alone()) {
    const bool at_once = peer.resent_since_probe || peer.backoff > 0;
    first = std::min(first, patience(id) + (at_once ? 0 : delays_.cycle()));
  }
  return delays_.backed_off(first, peer.backoff);
}

// The packets of a train follow one another, the next train comes a cycle later. Who has not begun
// may be late.
base::Nanos Engine::wait_delay(PeerId id) const {
  const Peer& peer = peers_[id];
  // A partner of a later round has no reason to send yet; it is only kept alive.
  if (peer.round > turns_.round()) return config_.keep_alive;
  base::Nanos first = delays_.await(congestion_.yielding());
  if (peer.recv.seen > 0) {
    // Where nobody takes turns, all that others send may come in between.
    const bool in_train = rounds_->interleaved && peer.recv.seen % config_.grain_packets != 0;
    first = std::min(first, patience(id) + (in_train ? 0 : 3 * delays_.cycle()));
  }
  return delays_.backed_off(first, peer.backoff);
}

base::Nanos Engine::unmoved_until(base::Nanos now) const {
  // Else what comes may open the window, make a block ready, or settle a dispute.
  if (send_left_ > 0 || reports_arrivals_ || disputes_.open() || !packet_time_.given()) return now;
  // What peers receive opens their windows. Those that receive less than they send may have to wait
  // for our acknowledgements, if they have more than half a window left.
  if (!symmetric_ && recv_left_ > congestion_.window() / 2) return now;
  // A quarter less than the link needs: it may be faster than the cluster file says.
  return now +
         static_cast<base::Nanos>(std::min(recv_left_ * 3 / 4, kGatherPacketsMax)) * frame_time_;
}

base::Nanos Engine::scan_peer(base::Nanos now, PeerId id) {
  const Peer& peer = peers_[id];
  base::Nanos due = base::kNever;
  if (peer.owed_since != base::kNever) {
    const base::Nanos at =
        peer.owed_since + delays_.ack(numbers_.running(), congestion_.yielding());
    if (now >= at) {
      reply(id, peer.owed_exchange, 0);
    } else {
      due = at;
    }
  }
  const bool unacked = peer.send.outstanding() > 0 || owes_tail(id);
  const bool awaited = numbers_.running() && (!peer.recv.complete() || disputed(id));
  if (!unacked && !awaited) return due;
  base::Nanos at = base::kNever;
  if (unacked) {
    const base::Nanos missed = paths_.any() ? paths_.quiet_since(id) : base::kNever;
    at = (missed == base::kNever ? peer.quiet_since : missed) + probe_delay(id);
  }
  if (awaited) {
    // In steps a peer's turn may come late: while others send, or nobody is to, there is no reason
    // to ask.
    const base::Nanos since =
        rounds_->steps == 0 ? peer.wait_since : std::max(peer.wait_since, steps_.next_arrival_at());
    at = std::min(at, since + wait_delay(id));
  }
  if (now < at) return std::min(due, at);
  queue_probe(id);
  // The next look comes no earlier than the shortest probe interval.
  return std::min(due, now + look_delay());
}

std::optional<PeerFailure> Engine::check_peers(base::Nanos now) {
  if (!numbers_.running() || !silence_.looks(now)) return std::nullopt;
  if (silence_.told()) return silence_.told();
  for (PeerId id = 0; id < peers_.size(); ++id) {
    if (id == self_) continue;
    Peer& peer = peers_[id];
    const bool awaited =
        !peer.recv.complete() || disputed(id) || owes_tail(id) || peer.send.outstanding() > 0;
    if (!awaited) continue;
    if (const auto failure = silence_.judge(now, id, &peer)) return failure;
  }
  silence_.looked(now);
  return std::nullopt;
}

}  // namespace alm::transport

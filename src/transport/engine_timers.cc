// Timers are lazy: next_timer_ is a lower bound for the earliest one; when it passes, all peers are
// looked at and it is computed anew. Activity only moves timers later, so it costs nothing per
// packet.
#include <algorithm>

#include "transport/engine.h"

namespace alm::transport {
namespace engine {
namespace {

// How long an answer of this peer is waited for; nothing is known: for ever.
base::Nanos patience(const Parts& e, PeerId id) {
  if (!e.delays.answers().known() || e.paths.any() || e.rounds->steps > 0) return base::kNever / 2;
  return e.delays.patience(e.asides[id].answered_in);
}

// Where this exchange loses by itself, who has sent asks early. What was sent again is answered at
// once, and so is a probe; all else when there is data that carries the answer.
base::Nanos probe_delay(const Parts& e, PeerId id) {
  const Peer& peer = e.peers[id];
  base::Nanos first = e.delays.probe(e.numbers.running(), e.congestion.yielding());
  if (e.numbers.running() && e.congestion.loses_alone()) {
    const bool at_once = peer.resent_since_probe || peer.backoff > 0;
    first = std::min(first, patience(e, id) + (at_once ? 0 : e.delays.cycle()));
  }
  return e.delays.backed_off(first, peer.backoff);
}

// The packets of a train follow one another, the next train comes a cycle later. Who has not begun
// may be late.
base::Nanos wait_delay(const Parts& e, PeerId id) {
  const Peer& peer = e.peers[id];
  // A partner of a later round has no reason to send yet; it is only kept alive.
  if (peer.round > e.turns.round()) return e.config.keep_alive;
  base::Nanos first = e.delays.await(e.congestion.yielding());
  if (peer.recv.seen > 0) {
    // Where nobody takes turns, all that others send may come in between.
    const bool in_train = e.rounds->interleaved && peer.recv.seen % e.config.grain_packets != 0;
    first = std::min(first, patience(e, id) + (in_train ? 0 : 3 * e.delays.cycle()));
  }
  return e.delays.backed_off(first, peer.backoff);
}

}  // namespace

base::Nanos scan_peer(Parts& e, base::Nanos now, PeerId id) {
  const Peer& peer = e.peers[id];
  base::Nanos due = base::kNever;
  if (peer.owed_since != base::kNever) {
    const base::Nanos at =
        peer.owed_since + e.delays.ack(e.numbers.running(), e.congestion.yielding());
    if (now >= at) {
      e.reply(id, peer.owed_exchange, 0);
    } else {
      due = at;
    }
  }
  const bool unacked = peer.send.outstanding() > 0 || e.owes_tail(id);
  const bool awaited = e.numbers.running() && (!peer.recv.complete() || e.disputed(id));
  if (!unacked && !awaited) return due;
  base::Nanos at = base::kNever;
  if (unacked) {
    const base::Nanos missed = e.paths.any() ? e.paths.quiet_since(id) : base::kNever;
    at = (missed == base::kNever ? peer.quiet_since : missed) + probe_delay(e, id);
  }
  if (awaited) {
    // In steps a peer's turn may come late: while others send, or nobody is to, there is no reason
    // to ask.
    const base::Nanos since = e.rounds->steps == 0
                                  ? peer.wait_since
                                  : std::max(peer.wait_since, e.steps.next_arrival_at());
    at = std::min(at, since + wait_delay(e, id));
  }
  if (now < at) return std::min(due, at);
  e.queue_probe(id);
  // The next look comes no earlier than the shortest probe interval.
  return std::min(due, now + e.look_delay());
}

}  // namespace engine

namespace {

// So many packets fit any receive buffer.
constexpr std::uint64_t kGatherPacketsMax = 64;

}  // namespace

base::Nanos Engine::unmoved_until(base::Nanos now) const {
  // Else what comes may open the window, make a block ready, or settle a dispute.
  if (parts_.send_left > 0 || parts_.reports_arrivals || parts_.disputes.open() ||
      !parts_.config.knows_rate)
    return now;
  // What peers receive opens their windows. Those that receive less than they send may have to wait
  // for our acknowledgements, if they have more than half a window left.
  if (!parts_.symmetric && parts_.recv_left > parts_.congestion.window() / 2) return now;
  // A quarter less than the link needs: it may be faster than the cluster file says.
  return now + static_cast<base::Nanos>(std::min(parts_.recv_left * 3 / 4, kGatherPacketsMax)) *
                   parts_.frame_time;
}

std::optional<PeerFailure> Engine::check_peers(base::Nanos now) {
  if (!parts_.numbers.running() || !parts_.silence.looks(now)) return std::nullopt;
  if (parts_.silence.told()) return parts_.silence.told();
  for (PeerId id = 0; id < parts_.peers.size(); ++id) {
    if (id == parts_.self) continue;
    Peer& peer = parts_.peers[id];
    const bool awaited = !peer.recv.complete() || parts_.disputed(id) || parts_.owes_tail(id) ||
                         peer.send.outstanding() > 0;
    if (!awaited) continue;
    if (const auto failure = parts_.silence.judge(now, id, &peer)) return failure;
  }
  parts_.silence.looked(now);
  return std::nullopt;
}

}  // namespace alm::transport

// Timers are lazy: next_timer_ is a lower bound for the earliest one; when it passes, all peers are
// looked at and it is computed anew. Activity only moves timers later, so it costs nothing per
// packet.
#include <algorithm>

#include "transport/engine.h"

namespace alm::transport {
namespace {

// How often silent peers are looked for.
constexpr base::Nanos kCheckEvery = 50 * base::kMillisecond;
// So many packets fit any receive buffer.
constexpr std::uint64_t kGatherPacketsMax = 64;

}  // namespace

// What losses cost is no reason to find out about the next one later; nor is the time in which
// blocks were withheld.
void Engine::measure_jitter(base::Nanos now) {
  if (lossy_ || !send_round_.empty()) return;
  const base::Nanos excess =
      std::max<base::Nanos>(0, now - started_ - nominal_total_) / static_cast<base::Nanos>(cycles_);
  const base::Nanos smoothed = jitter_ + (std::min(excess, config_.timer_jitter_max) - jitter_) / 4;
  jitter_ = std::max(config_.timer_jitter, smoothed);
}

// What is lost in others' queues is to be found soon, and what exchanges take longer there is no
// skew.
base::Nanos Engine::allowance() const {
  constexpr base::Nanos kPart = 4;
  if (!yield_.yielding()) return jitter_;
  return std::min(jitter_, std::max(config_.timer_jitter, cycle() / kPart));
}

base::Nanos Engine::ack_delay() const {
  return running_ ? cycle() + 2 * allowance() : cycle() + config_.idle_ack_delay;
}

base::Nanos Engine::probe_delay_min() const {
  return config_.round_trip + 2 * cycle() + 4 * allowance();
}

base::Nanos Engine::backed_off(base::Nanos first, const Peer& peer) const {
  return std::min(first << peer.backoff, std::max(first, config_.keep_alive));
}

// What is to be waited for an answer of this peer; nothing is known: for ever.
base::Nanos Engine::patience(PeerId id) const {
  if (!answers_.known() || many_paths() || rounds_->steps > 0) return base::kNever / 2;
  return std::max(answers_.patience(config_.timer_least), 2 * asides_[id].answered_in);
}

// When the peers are looked at next, at the earliest: of two of them for each packet, so that many
// peers do not cost more than the packets.
base::Nanos Engine::least_delay() const {
  constexpr base::Nanos kLooksPerPacket = 2;
  if (!answers_.known()) return probe_delay_min();
  const base::Nanos looks = static_cast<base::Nanos>(peers_.size()) * frame_time_ / kLooksPerPacket;
  return std::min(probe_delay_min(), std::max(looks, answers_.patience(config_.timer_least)));
}

// Where this exchange loses by itself, who has sent asks early. What was sent again is answered at
// once, and so is a probe; all else when there is data that carries the answer.
base::Nanos Engine::probe_delay(PeerId id) const {
  const Peer& peer = peers_[id];
  base::Nanos first =
      running_ ? probe_delay_min() : config_.round_trip + 4 * cycle() + config_.idle_probe_delay;
  if (running_ && loses_alone()) {
    const bool at_once = peer.resent_since_probe || peer.backoff > 0;
    first = std::min(first, patience(id) + (at_once ? 0 : cycle()));
  }
  return backed_off(first, peer);
}

// The packets of a train follow one another, the next train comes a cycle later. Who has not begun
// may be late.
base::Nanos Engine::wait_delay(PeerId id) const {
  const Peer& peer = peers_[id];
  // A partner of a later round has no reason to send yet; it is only kept alive.
  if (peer.round > round_) return config_.keep_alive;
  base::Nanos first = config_.round_trip + 3 * cycle() + 6 * allowance();
  if (peer.recv.seen > 0) {
    first = std::min(first, patience(id) + (in_train(peer) ? 0 : 3 * cycle()));
  }
  return backed_off(first, peer);
}

// Whether the latest packet of it was not the last one of its train. Where nobody takes turns, all
// that others send may come in between.
bool Engine::in_train(const Peer& peer) const {
  return rounds_->interleaved && peer.recv.seen % config_.grain_packets != 0;
}

// What this rank gets of the link, by what it has sent last.
void Engine::measure_spacing(base::Nanos now) {
  if (config_.limit_time == 0) return;
  const auto spacing = sends_.spacing(send_left_ > 0 ? now : sends_.latest());
  if (spacing) crowd_.measured(*spacing, window_, busy_window());
}

// In steps a peer's turn may come late: while others send, or nobody is to, there is no reason to
// ask.
base::Nanos Engine::waited_since(const Peer& peer) const {
  return rounds_->steps == 0 ? peer.wait_since : std::max(peer.wait_since, next_arrival_at());
}

base::Nanos Engine::unmoved_until(base::Nanos now) const {
  // Else what comes may open the window, make a block ready, or settle a dispute.
  if (send_left_ > 0 || reports_arrivals_ || in_dispute_ || !config_.knows_rate) return now;
  // What peers receive opens their windows. Those that receive less than they send may have to wait
  // for our acknowledgements, if they have more than half a window left.
  if (!symmetric_ && recv_left_ > window_ / 2) return now;
  // A quarter less than the link needs: it may be faster than the cluster file says.
  return now +
         static_cast<base::Nanos>(std::min(recv_left_ * 3 / 4, kGatherPacketsMax)) * frame_time_;
}

void Engine::scan_timers(base::Nanos now) {
  next_timer_ = base::kNever;
  for (PeerId id = 0; id < peers_.size(); ++id) {
    if (id != self_) timer_at(scan_peer(now, id));
  }
}

base::Nanos Engine::scan_peer(base::Nanos now, PeerId id) {
  Peer& peer = peers_[id];
  base::Nanos due = base::kNever;
  if (peer.owed_since != base::kNever) {
    const base::Nanos at = peer.owed_since + ack_delay();
    if (now >= at) {
      reply(id, peer.owed_exchange, 0);
    } else {
      due = at;
    }
  }
  const bool unacked = peer.send.outstanding() > 0 || owes_tail(id);
  const bool awaited = running_ && (!peer.recv.complete() || disputed(id));
  if (!unacked && !awaited) return due;
  base::Nanos at = base::kNever;
  if (unacked) at = quiet_since(id) + probe_delay(id);
  if (awaited) at = std::min(at, waited_since(peer) + wait_delay(id));
  if (now < at) return std::min(due, at);
  queue_probe(id);
  // The next look comes no earlier than the shortest probe interval.
  return std::min(due, now + least_delay());
}

std::optional<PeerFailure> Engine::check_peers(base::Nanos now) {
  if (!running_ || now < next_check_) return std::nullopt;
  if (told_) return told_;
  for (PeerId id = 0; id < peers_.size(); ++id) {
    if (id == self_) continue;
    Peer& peer = peers_[id];
    const bool awaited =
        !peer.recv.complete() || disputed(id) || owes_tail(id) || peer.send.outstanding() > 0;
    if (!awaited) continue;
    const base::Nanos silent = listened(now) - std::max(peer.heard, listening_since_);
    const bool fatal = silent >= config_.peer_timeout;
    if (!fatal && (peer.warned || silent < config_.peer_warning)) continue;
    peer.warned = true;
    return PeerFailure{id, silent, fatal};
  }
  next_check_ = now + kCheckEvery;
  return std::nullopt;
}

}  // namespace alm::transport

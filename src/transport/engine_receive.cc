// What arrives: data to place, hold or drop, and the acknowledgements it gives rise to.
#include <algorithm>

#include "transport/engine.h"

namespace alm::transport {
namespace {

constexpr std::uint32_t kBankWindows = 4;

}  // namespace

// Counts what does not decode; everything else goes to its handler.
template <class Body, class Handler>
void Engine::decoded(const std::optional<Body>& body, const Handler& handle) {
  if (body) {
    handle(*body);
  } else {
    ++counters_.rejected_malformed;
  }
}

Verdict Engine::on_packet(base::Nanos now, const wire::Header& header, std::uint64_t exchange,
                          std::uint32_t length, std::span<const std::byte> body) {
  const PeerId id = header.source;
  if (abandoned_) {
    if ((lost_ || mismatch_) &&
        (header.type == wire::Type::kData || header.type == wire::Type::kProbe)) {
      reply_again(id, exchange, 0);
    }
    return Verdict::kNothing;
  }
  switch (header.type) {
    case wire::Type::kData:
      break;
    case wire::Type::kAck:
      decoded(wire::decode_ack(body),
              [&](const wire::AckBody& ack) { on_ack(now, header, exchange, ack); });
      return Verdict::kNothing;
    case wire::Type::kProbe:
      decoded(wire::decode_probe(body),
              [&](const wire::ProbeBody& probe) { on_probe(now, header, exchange, probe); });
      return Verdict::kNothing;
    case wire::Type::kLost:
      decoded(wire::decode_number(body), [&](std::uint32_t lost) { on_lost(now, id, lost); });
      return Verdict::kNothing;
    case wire::Type::kMismatch:
      decoded(wire::decode_mismatch(body),
              [&](const wire::MismatchBody& found) { on_mismatch(found); });
      return Verdict::kNothing;
    case wire::Type::kElsewhere:
      decoded(wire::decode_elsewhere(body),
              [&](const Elsewhere& elsewhere) { on_elsewhere(now, id, exchange, elsewhere); });
      return Verdict::kNothing;
  }
  heard(now, id);
  implied_ack(now, id, exchange);
  apply_ack(now, id, exchange, header.acknowledged, nullptr);
  return on_data(now, header, exchange, length);
}

void Engine::on_lost(base::Nanos now, PeerId id, std::uint32_t number) {
  if (told_) return;
  told_ = PeerFailure{.peer = id, .silent = 0, .fatal = true, .told = number};
  next_check_ = now;
}

void Engine::on_elsewhere(base::Nanos now, PeerId id, std::uint64_t exchange,
                          const Elsewhere& elsewhere) {
  heard(now, id);
  if (running_ && exchange == current()) asides_[id].elsewhere = elsewhere;
}

void Engine::on_ack(base::Nanos now, const wire::Header& header, std::uint64_t exchange,
                    const wire::AckBody& ack) {
  const PeerId id = header.source;
  if (header.packet >= kSpanMax || header.packet % wire::kBitmapBits != 0) {
    ++counters_.rejected_malformed;
    return;
  }
  heard(now, id);
  // As said of an exchange that its sender has not entered (emit_ack()). One it has completed is
  // acknowledged as a whole.
  if (running_ && exchange == current() && ack.echo == 0 && ack.seen == 0 &&
      header.acknowledged != wire::kAcknowledgedAll) {
    asides_[id].not_entered_at = now;
  }
  const bool past = header.acknowledged == wire::kAcknowledgedAll && ack.echo != 0;
  if (past && running_ && exchange == current() && !peers_[id].send.exhausted()) {
    // Too far ahead to know what it expected.
    return give_up({self_, id, send_sizes_.of(id), Mismatch::kUnknown});
  }
  wire::AckBody told = ack;
  told.begin = header.packet;
  apply_ack(now, id, exchange, header.acknowledged, &told);
}

void Engine::on_probe(base::Nanos now, const wire::Header& header, std::uint64_t exchange,
                      const wire::ProbeBody& probe) {
  const PeerId id = header.source;
  heard(now, id);
  note_ahead(now, id, exchange, probe.sends);
  if (!compare(id, exchange, probe)) return;
  implied_ack(now, id, exchange);
  apply_ack(now, id, exchange, header.acknowledged, nullptr);
  reply_again(id, exchange, probe.number);
  if (elsewhere_ && exchange == entered_ && elsewhere_queue_.size() < peers_.size()) {
    elsewhere_queue_.push_back(id);
  }
  // It waits for data we count as sent: ask what it lacks.
  const SendWindow* window = window_of(id, exchange);
  if (window != nullptr && window->outstanding() > 0 && asks_back(now, id)) {
    queue_probe(id);
  }
}

void Engine::heard(base::Nanos now, PeerId id) {
  peers_[id].heard = listened(now);
  peers_[id].warned = false;
}

Verdict Engine::on_data(base::Nanos now, const wire::Header& header, std::uint64_t exchange,
                        std::uint32_t length) {
  const PeerId id = header.source;
  if (exchange < done_below()) {
    if (exchange == tail_exchange() && !fits_tail(id, header)) {
      dispute(id, exchange);
      return Verdict::kNothing;
    }
    // Our acknowledgement got lost.
    ++counters_.duplicates_received;
    reply_again(id, exchange, 0);
    return Verdict::kNothing;
  }
  note_ahead(now, id, exchange, 0);
  const bool ack_soon = (header.flags & wire::kFlagAckSoon) != 0;
  const bool last = (header.flags & wire::kFlagLast) != 0;
  if (exchange == entered_) {
    const Verdict verdict = hold_early(now, id, header.packet, length, exchange, ack_soon);
    if (last && length > 0) asides_[id].early.total = header.packet + 1;
    if (running_ && !many_paths() && (last || header.packet > 0)) overtaken(id);
    return verdict;
  }
  if (exchange > entered_) {
    ++counters_.early_dropped;
    return Verdict::kNothing;
  }
  Peer& peer = peers_[id];
  if (disputed(id) || last != (header.packet + 1 == peer.recv.total)) {
    dispute(id, exchange);
    return Verdict::kNothing;
  }
  const bool hole_before = peer.recv.hole();
  if (!accept(peer, header.packet, length, recv_sizes_.of(id))) {
    if (length != expected_length(id, header.packet)) dispute(id, exchange);
    if (header.packet < peer.recv.total) reply_again(id, exchange, 0);
    return Verdict::kNothing;
  }
  peer.wait_since = last_arrival_at_ = now;
  timer_at(now + least_delay());
  lossy_ = lossy_ || gap_is_loss(peer);
  owe(now, id, exchange);
  const bool gap = hole_before || peer.recv.hole();
  if (ack_soon || (gap && answers_gap(id))) reply(id, exchange, 0);
  return Verdict::kPlace;
}

bool Engine::accept(Peer& peer, std::uint32_t packet, std::uint32_t length, std::uint64_t bytes) {
  if (packet >= peer.recv.total || length != length_of(bytes, packet)) {
    ++counters_.rejected_malformed;
    return false;
  }
  if (peer.recv.has(packet)) {
    ++counters_.duplicates_received;
    return false;
  }
  const bool in_order = packet == peer.recv.cumulative;
  peer.recv.seen = std::max(peer.recv.seen, packet + 1);
  if (!peer.recv.in_span(packet) || (config_.reliability == Reliability::kGoBackN && !in_order)) {
    ++counters_.rejected_stale;
    return false;
  }
  peer.recv.add(packet);
  --recv_left_;
  --round_recv_left_[peer.round];
  ++counters_.data_received;
  if (reports_arrivals_ && peer.recv.complete()) {
    arrivals_.push_back(static_cast<PeerId>(&peer - peers_.data()));
  }
  credit();
  count_arrival();
  return true;
}

// On one path what comes of the next exchange has been sent after all of this one. The caller waits
// for more than its first packet, which a network that sprays packets may bring first.
void Engine::overtaken(PeerId id) {
  ReceiveWindow& recv = peers_[id].recv;
  if (recv.complete() || recv.seen == recv.total) return;
  recv.seen = recv.total;
  lossy_ = true;
  reply(id, current(), 0);
}

bool Engine::take_arrival(PeerId* peer) {
  if (arrivals_.empty()) return false;
  *peer = arrivals_.front();
  arrivals_.pop_front();
  return true;
}

bool Engine::replay(PeerId id, std::uint32_t packet, std::uint32_t length) {
  if (abandoned_ || disputed(id, current())) return false;
  if (length != expected_length(id, packet)) {
    dispute(id, current());
    return false;
  }
  return accept(peers_[id], packet, length, recv_sizes_.of(id));
}

Verdict Engine::hold_early(base::Nanos now, PeerId id, std::uint32_t packet, std::uint32_t length,
                           std::uint64_t exchange, bool ack_soon) {
  ReceiveWindow& early = asides_[id].early;
  if (length == 0 || length > packet_bytes_) {
    ++counters_.rejected_malformed;
    return Verdict::kNothing;
  }
  if (early.has(packet)) {
    ++counters_.duplicates_received;
    reply_again(id, exchange, 0);
    return Verdict::kNothing;
  }
  const bool in_order = packet == early.cumulative;
  const bool takes = early.in_span(packet) &&
                     (config_.reliability == Reliability::kSelectiveRepeat || in_order) &&
                     early_bytes_ + length <= config_.early_bytes_max;
  early.seen = std::max(early.seen, packet + 1);
  if (!takes) {
    ++counters_.early_dropped;
    return Verdict::kNothing;
  }
  early.add(packet);
  early_bytes_ += length;
  ++counters_.early_held;
  owe(now, id, exchange);
  if (ack_soon || (early.hole() && answers_gap(id))) reply(id, exchange, 0);
  return Verdict::kHold;
}

void Engine::owe(base::Nanos now, PeerId id, std::uint64_t exchange) {
  Peer& peer = peers_[id];
  peer.owed_exchange = exchange;
  if (peer.owed_since != base::kNever) return;
  peer.owed_since = now;
  ++owing_;
  timer_at(now + ack_delay());
}

void Engine::paid(PeerId id) {
  if (peers_[id].owed_since == base::kNever) return;
  peers_[id].owed_since = base::kNever;
  --owing_;
}

// The peer asks, or sends what has come: what it was told may have got lost.
void Engine::reply_again(PeerId id, std::uint64_t exchange, std::uint32_t echo) {
  if (many_paths()) paths_[id].not_heard();
  reply(id, exchange, echo);
}

void Engine::reply(PeerId id, std::uint64_t exchange, std::uint32_t echo) {
  Peer& peer = peers_[id];
  asides_[id].reply_exchange = exchange;
  if (echo != 0) peer.echo = echo;
  if (peer.ack_queued) return;
  peer.ack_queued = true;
  ack_queue_.push_back(id);
}

// eta falls with each new packet (000 Alg 2), clamped at 0. What a rank that is behind received
// before it sent is banked and given back one for every second arrival, never as a burst. A bank of
// one window is too small: a rank that has paused for longer stays behind for good, and at the end
// of the exchange sends alone over an uplink made for several (ADR 6). While the window yields
// there is no bound, and with a window of one packet, where eta is never more than that, what is
// given back is a packet beyond it: what stays in the bank is missing on the way, until nobody may
// send.
void Engine::credit() {
  if (eta_ == 0) {
    ++banked_;
    if (!yield_.yielding()) banked_ = std::min(banked_, kBankWindows * window_);
    return;
  }
  --eta_;
  if (banked_ == 0 || (eta_ == 0 && (window_ > 1 || spare_))) return;
  bank_turn_ = !bank_turn_;
  if (!bank_turn_) return;
  if (eta_ == 0) {
    spare_ = true;
  } else {
    --eta_;
  }
  --banked_;
}

}  // namespace alm::transport

// What arrives: data to place, hold or drop, and the acknowledgements it gives rise to.
#include <algorithm>

#include "transport/engine_parts.h"

namespace alm::transport {

// Counts what does not decode; everything else goes to its handler.
template <class Body, class Handler>
void EngineReceiving::decoded(const std::optional<Body>& body, const Handler& handle) {
  if (body) {
    handle(*body);
  } else {
    ++counters_.rejected_malformed;
  }
}

Verdict EngineReceiving::receive(base::Nanos now, const wire::Header& header,
                                 std::uint64_t exchange, std::uint32_t length,
                                 std::span<const std::byte> body) {
  const PeerId id = header.source;
  if (abandoned_) {
    if ((lost_ || disputes_.mismatch()) &&
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
      decoded(wire::decode_number(body), [&](std::uint32_t lost) { silence_.told(now, id, lost); });
      return Verdict::kNothing;
    case wire::Type::kMismatch:
      decoded(wire::decode_mismatch(body),
              [&](const wire::MismatchBody& found) { on_mismatch(found); });
      return Verdict::kNothing;
    case wire::Type::kElsewhere:
      decoded(wire::decode_elsewhere(body), [&](const Attendance::Elsewhere& elsewhere) {
        silence_.heard(now, &peers_[id]);
        if (numbers_.runs(exchange)) attendance_.says_elsewhere(id, elsewhere);
      });
      return Verdict::kNothing;
  }
  silence_.heard(now, &peers_[id]);
  implied_ack(now, id, exchange);
  apply_ack(now, id, exchange, header.acknowledged, nullptr);
  return on_data(now, header, exchange, length);
}

void EngineReceiving::on_ack(base::Nanos now, const wire::Header& header, std::uint64_t exchange,
                             const wire::AckBody& ack) {
  const PeerId id = header.source;
  if (header.packet >= kSpanMax || header.packet % wire::kBitmapBits != 0) {
    ++counters_.rejected_malformed;
    return;
  }
  silence_.heard(now, &peers_[id]);
  // As said of an exchange that its sender has not entered (emit_ack()). One it has completed is
  // acknowledged as a whole.
  if (numbers_.runs(exchange) && ack.echo == 0 && ack.seen == 0 &&
      header.acknowledged != wire::kAcknowledgedAll) {
    attendance_.says_not_entered(now, id);
  }
  const bool past = header.acknowledged == wire::kAcknowledgedAll && ack.echo != 0;
  if (past && numbers_.runs(exchange) && !peers_[id].send.exhausted()) {
    // Too far ahead to know what it expected.
    return disputes_.settle({self_, id, sizes_.sends(id), Mismatch::kUnknown});
  }
  wire::AckBody told = ack;
  told.begin = header.packet;
  apply_ack(now, id, exchange, header.acknowledged, &told);
}

void EngineReceiving::on_probe(base::Nanos now, const wire::Header& header, std::uint64_t exchange,
                               const wire::ProbeBody& probe) {
  const PeerId id = header.source;
  silence_.heard(now, &peers_[id]);
  if (exchange >= numbers_.entered()) attendance_.came(now, id, exchange, probe.sends);
  if (const auto ours = sizes_.with(id, exchange, numbers_)) {
    if (const auto differ = disputes_.compare(id, *ours, probe)) return disputes_.settle(*differ);
  }
  implied_ack(now, id, exchange);
  apply_ack(now, id, exchange, header.acknowledged, nullptr);
  reply_again(id, exchange, probe.number);
  if (exchange == numbers_.entered()) attendance_.asks(id);
  // It waits for data we count as sent: ask what it lacks.
  const SendWindow* window = window_of(id, exchange);
  if (window != nullptr && window->outstanding() > 0 && asks_back(now, id)) {
    queue_probe(id);
  }
}

// Whether a probe of the peer is reason to send it one. Over several paths the answer to an earlier
// one may still be on its way, and would be worth nothing once the next one is sent.
bool EngineReceiving::asks_back(base::Nanos now, PeerId id) const {
  const Peer& peer = peers_[id];
  if (!paths_.any()) return now - peer.quiet_since > delays_.ask_back(asides_[id].answered_in);
  return now - std::max(peer.quiet_since, paths_.of(id).probed_at()) >
         delays_.backed_off(delays_.probe_least(congestion_.yielding()), peer.backoff);
}

void EngineReceiving::on_mismatch(const wire::MismatchBody& told) {
  if (told.from >= peers_.size() || told.to >= peers_.size()) {
    ++counters_.rejected_malformed;
    return;
  }
  disputes_.settle({told.from, told.to, told.sent, told.expected});
}

Verdict EngineReceiving::on_data(base::Nanos now, const wire::Header& header,
                                 std::uint64_t exchange, std::uint32_t length) {
  const PeerId id = header.source;
  const bool ack_soon = (header.flags & wire::kFlagAckSoon) != 0;
  const bool last = (header.flags & wire::kFlagLast) != 0;
  if (exchange < numbers_.done_below()) {
    if (exchange == numbers_.tail() &&
        !Disputes::fits(sizes_.packets_of(sizes_.tail_expects(id)), header.packet, last)) {
      dispute(id, exchange);
      return Verdict::kNothing;
    }
    // Our acknowledgement got lost.
    ++counters_.duplicates_received;
    reply_again(id, exchange, 0);
    return Verdict::kNothing;
  }
  if (exchange >= numbers_.entered()) attendance_.came(now, id, exchange, 0);
  if (exchange == numbers_.entered()) {
    const Verdict verdict = hold_early(now, id, header.packet, length, exchange, ack_soon);
    if (last && length > 0) asides_[id].early.total = header.packet + 1;
    if (numbers_.running() && !paths_.any() && (last || header.packet > 0)) overtaken(id);
    return verdict;
  }
  if (exchange > numbers_.entered()) {
    ++counters_.early_dropped;
    return Verdict::kNothing;
  }
  Peer& peer = peers_[id];
  if (disputed(id) || last != (header.packet + 1 == peer.recv.total)) {
    dispute(id, exchange);
    return Verdict::kNothing;
  }
  const bool hole_before = peer.recv.hole();
  if (!accept(id, header.packet, length)) {
    if (length != expected_length(id, header.packet)) dispute(id, exchange);
    if (header.packet < peer.recv.total) reply_again(id, exchange, 0);
    return Verdict::kNothing;
  }
  peer.wait_since = now;
  steps_.came_at(now);
  timer_at(now + look_delay());
  if (!paths_.any() && peer.recv.hole()) congestion_.saw_loss();
  owe(now, id, exchange);
  const bool gap = hole_before || peer.recv.hole();
  if (ack_soon || (gap && answers_gap(id))) reply(id, exchange, 0);
  return Verdict::kPlace;
}

// 0: the block that is expected has no such packet.
std::uint32_t EngineReceiving::expected_length(PeerId id, std::uint32_t packet) const {
  return packet < peers_[id].recv.total ? sizes_.length_of(sizes_.expects(id), packet) : 0;
}

bool EngineReceiving::accept(PeerId id, std::uint32_t packet, std::uint32_t length) {
  Peer& peer = peers_[id];
  if (packet >= peer.recv.total || length != expected_length(id, packet)) {
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
  turns_.came(peer.round);
  ++counters_.data_received;
  if (reports_arrivals_ && peer.recv.complete()) arrivals_.push_back(id);
  clock_.came(congestion_.window(), congestion_.yielding());
  steps_.came();
  return true;
}

// On one path what comes of the next exchange has been sent after all of this one. The caller waits
// for more than its first packet, which a network that sprays packets may bring first.
void EngineReceiving::overtaken(PeerId id) {
  ReceiveWindow& recv = peers_[id].recv;
  if (recv.complete() || recv.seen == recv.total) return;
  recv.seen = recv.total;
  congestion_.saw_loss();
  reply(id, numbers_.current(), 0);
}

bool EngineReceiving::accept_held(PeerId id, std::uint32_t packet, std::uint32_t length) {
  if (abandoned_ || disputes_.disputed(id, numbers_.current())) return false;
  if (length == expected_length(id, packet)) return accept(id, packet, length);
  dispute(id, numbers_.current());
  return false;
}

Verdict EngineReceiving::hold_early(base::Nanos now, PeerId id, std::uint32_t packet,
                                    std::uint32_t length, std::uint64_t exchange, bool ack_soon) {
  ReceiveWindow& early = asides_[id].early;
  if (length == 0 || length > sizes_.packet_bytes()) {
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

void EngineReceiving::owe(base::Nanos now, PeerId id, std::uint64_t exchange) {
  if (!acks_.owe(now, &peers_[id], exchange)) return;
  timer_at(now + delays_.ack(numbers_.running(), congestion_.yielding()));
}

// The peer asks, or sends what has come: what it was told may have got lost.
void EngineReceiving::reply_again(PeerId id, std::uint64_t exchange, std::uint32_t echo) {
  if (paths_.any()) paths_.of(id).not_heard();
  reply(id, exchange, echo);
}

}  // namespace alm::transport

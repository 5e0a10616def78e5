// What arrives: data to place, hold or drop, and the acknowledgements it gives rise to.
#include <algorithm>

#include "transport/engine_parts.h"

namespace alm::transport::engine {
namespace {

// Counts what does not decode; everything else goes to its handler.
template <class Body, class Handler>
void decoded(Parts& e, const std::optional<Body>& body, const Handler& handle) {
  if (body) {
    handle(*body);
  } else {
    ++e.counters.rejected_malformed;
  }
}

// The peer asks, or sends what has come: what it was told may have got lost.
void reply_again(Parts& e, PeerId id, std::uint64_t exchange, std::uint32_t echo) {
  if (e.paths.any()) e.paths.of(id).not_heard();
  e.reply(id, exchange, echo);
}

void owe(Parts& e, base::Nanos now, PeerId id, std::uint64_t exchange) {
  if (!e.acks.owe(now, &e.peers[id], exchange)) return;
  e.timer_at(now + e.delays.ack(e.numbers.running(), e.congestion.yielding()));
}

bool answers_gap(Parts& e, PeerId id) { return !e.paths.any() || e.paths.of(id).answers_gap(); }

// 0: the block that is expected has no such packet.
std::uint32_t expected_length(const Parts& e, PeerId id, std::uint32_t packet) {
  return packet < e.peers[id].recv.total ? e.sizes.length_of(e.sizes.expects(id), packet) : 0;
}

// The packet is there, as none has been so far.
void take(Parts& e, PeerId id, std::uint32_t packet) {
  Peer& peer = e.peers[id];
  peer.recv.add(packet);
  --e.recv_left;
  e.turns.came(peer.round);
  ++e.counters.data_received;
  if (e.reports_arrivals && peer.recv.complete()) e.arrivals.push_back(id);
  e.clock.came(e.congestion.window(), e.congestion.yielding());
  e.steps.came();
}

bool accept(Parts& e, PeerId id, std::uint32_t packet, std::uint32_t length) {
  Peer& peer = e.peers[id];
  if (packet >= peer.recv.total || length != expected_length(e, id, packet)) {
    ++e.counters.rejected_malformed;
    return false;
  }
  if (peer.recv.has(packet)) {
    ++e.counters.duplicates_received;
    return false;
  }
  const bool in_order = packet == peer.recv.cumulative;
  if (packet > peer.recv.seen && e.counts_losses()) e.parities.lost(packet - peer.recv.seen);
  peer.recv.seen = std::max(peer.recv.seen, packet + 1);
  if (!peer.recv.in_span(packet) || (e.config.reliability == Reliability::kGoBackN && !in_order)) {
    ++e.counters.rejected_stale;
    return false;
  }
  take(e, id, packet);
  return true;
}

// On one path what comes of the next exchange has been sent after all of this one. The caller waits
// for more than its first packet, which a network that sprays packets may bring first.
void overtaken(Parts& e, PeerId id) {
  ReceiveWindow& recv = e.peers[id].recv;
  if (recv.complete() || recv.seen == recv.total) return;
  recv.seen = recv.total;
  e.congestion.saw_loss();
  e.reply(id, e.numbers.current(), 0);
}

Verdict hold_early(Parts& e, base::Nanos now, PeerId id, std::uint32_t packet, std::uint32_t length,
                   std::uint64_t exchange, bool ack_soon) {
  ReceiveWindow& early = e.asides[id].early;
  if (length == 0 || length > e.sizes.packet_bytes()) {
    ++e.counters.rejected_malformed;
    return Verdict::kNothing;
  }
  if (early.has(packet)) {
    ++e.counters.duplicates_received;
    reply_again(e, id, exchange, 0);
    return Verdict::kNothing;
  }
  const bool in_order = packet == early.cumulative;
  const bool takes = early.in_span(packet) &&
                     (e.config.reliability == Reliability::kSelectiveRepeat || in_order) &&
                     e.early_bytes + length <= e.config.early_bytes_max;
  early.seen = std::max(early.seen, packet + 1);
  if (!takes) {
    ++e.counters.early_dropped;
    return Verdict::kNothing;
  }
  early.add(packet);
  e.early_bytes += length;
  ++e.counters.early_held;
  owe(e, now, id, exchange);
  if (ack_soon || (early.hole() && answers_gap(e, id))) e.reply(id, exchange, 0);
  return Verdict::kHold;
}

Verdict on_data(Parts& e, base::Nanos now, const wire::Header& header, std::uint64_t exchange,
                std::uint32_t length) {
  const PeerId id = header.source;
  const bool ack_soon = (header.flags & wire::kFlagAckSoon) != 0;
  const bool last = (header.flags & wire::kFlagLast) != 0;
  if (exchange < e.numbers.done_below()) {
    if (exchange == e.numbers.tail() &&
        !Disputes::fits(e.sizes.packets_of(e.sizes.tail_expects(id)), header.packet, last)) {
      e.dispute(id, exchange);
      return Verdict::kNothing;
    }
    // Our acknowledgement got lost.
    ++e.counters.duplicates_received;
    reply_again(e, id, exchange, 0);
    return Verdict::kNothing;
  }
  if (exchange >= e.numbers.entered()) e.attendance.came(now, id, exchange, 0);
  if (exchange == e.numbers.entered()) {
    const Verdict verdict = hold_early(e, now, id, header.packet, length, exchange, ack_soon);
    if (last && length > 0) e.asides[id].early.total = header.packet + 1;
    if (e.numbers.running() && !e.paths.any() && (last || header.packet > 0)) overtaken(e, id);
    return verdict;
  }
  if (exchange > e.numbers.entered()) {
    ++e.counters.early_dropped;
    return Verdict::kNothing;
  }
  Peer& peer = e.peers[id];
  if (e.disputed(id) || last != (header.packet + 1 == peer.recv.total)) {
    e.dispute(id, exchange);
    return Verdict::kNothing;
  }
  const bool hole_before = peer.recv.hole();
  // What is sent again asks for an acknowledgement.
  const bool late = header.packet < peer.recv.seen && !ack_soon;
  if (!accept(e, id, header.packet, length)) {
    if (length != expected_length(e, id, header.packet)) e.dispute(id, exchange);
    if (header.packet < peer.recv.total) reply_again(e, id, exchange, 0);
    return Verdict::kNothing;
  }
  if (late && e.counts_losses()) e.parities.was_late();
  peer.wait_since = now;
  e.steps.came_at(now);
  e.timer_at(now + e.look_delay());
  if (!e.paths.any() && peer.recv.hole()) e.congestion.saw_loss();
  owe(e, now, id, exchange);
  const bool gap = hole_before || peer.recv.hole();
  if (ack_soon || (gap && answers_gap(e, id))) e.reply(id, exchange, 0);
  return Verdict::kPlace;
}

// All data of the block has been sent before it, so that what has not come is lost, unless a
// network reorders.
Verdict on_parity(Parts& e, base::Nanos now, const wire::Header& header, std::uint64_t exchange,
                  std::uint32_t length) {
  const PeerId id = header.source;
  ReceiveWindow& recv = e.peers[id].recv;
  if ((header.flags & wire::kFlagFirstHand) != 0) e.parities.told();
  if (!e.numbers.runs(exchange) || recv.complete()) return Verdict::kNothing;
  const std::uint64_t bytes = e.sizes.expects(id);
  if (e.disputed(id) || header.acknowledged != bytes) {
    e.dispute(id, exchange);
    return Verdict::kNothing;
  }
  if (length != expected_length(e, id, 0) || header.packet >= blocks::kParitiesMax ||
      recv.total > blocks::kParityBlockMax) {
    ++e.counters.rejected_malformed;
    return Verdict::kNothing;
  }
  if (!e.parities.came(id, header.packet)) {
    ++e.counters.duplicates_received;
    return Verdict::kNothing;
  }
  e.parities.lost(recv.total - recv.seen);
  recv.seen = recv.total;
  e.peers[id].wait_since = now;
  e.timer_at(now + e.look_delay());
  e.congestion.saw_loss();
  if (!e.parities.suffice(id, recv)) e.reply(id, exchange, 0);
  return Verdict::kParity;
}

void on_ack(Parts& e, base::Nanos now, const wire::Header& header, std::uint64_t exchange,
            const wire::AckBody& ack) {
  const PeerId id = header.source;
  if (header.packet >= kSpanMax || header.packet % wire::kBitmapBits != 0) {
    ++e.counters.rejected_malformed;
    return;
  }
  e.silence.heard(now, &e.peers[id]);
  // As said of an exchange that its sender has not entered (emit_ack(e)). One it has completed is
  // acknowledged as a whole.
  if (e.numbers.runs(exchange) && ack.echo == 0 && ack.seen == 0 &&
      header.acknowledged != wire::kAcknowledgedAll) {
    e.attendance.says_not_entered(now, id);
  }
  const bool past = header.acknowledged == wire::kAcknowledgedAll && ack.echo != 0;
  if (past && e.numbers.runs(exchange) && !e.peers[id].send.exhausted()) {
    // Too far ahead to know what it expected.
    return e.disputes.settle({e.self, id, e.sizes.sends(id), Mismatch::kUnknown});
  }
  wire::AckBody told = ack;
  told.begin = header.packet;
  apply_ack(e, now, id, exchange, header.acknowledged, &told);
}

// Whether a probe of the peer is reason to send it one. Over several paths the answer to an earlier
// one may still be on its way, and would be worth nothing once the next one is sent.
bool asks_back(const Parts& e, base::Nanos now, PeerId id) {
  const Peer& peer = e.peers[id];
  if (!e.paths.any()) return now - peer.quiet_since > e.delays.ask_back(e.asides[id].answered_in);
  return now - std::max(peer.quiet_since, e.paths.of(id).probed_at()) >
         e.delays.backed_off(e.delays.probe_least(e.congestion.yielding()), peer.backoff);
}

void on_probe(Parts& e, base::Nanos now, const wire::Header& header, std::uint64_t exchange,
              const wire::ProbeBody& probe) {
  const PeerId id = header.source;
  e.silence.heard(now, &e.peers[id]);
  if (exchange >= e.numbers.entered()) e.attendance.came(now, id, exchange, probe.sends);
  if (const auto ours = e.sizes.with(id, exchange, e.numbers)) {
    if (const auto differ = e.disputes.compare(id, *ours, probe)) return e.disputes.settle(*differ);
  }
  implied_ack(e, now, id, exchange);
  apply_ack(e, now, id, exchange, header.acknowledged, nullptr);
  reply_again(e, id, exchange, probe.number);
  if (exchange == e.numbers.entered()) e.attendance.asks(id);
  // It waits for data we count as sent: ask what it lacks.
  const SendWindow* window = e.window_of(id, exchange);
  if (window != nullptr && window->outstanding() > 0 && asks_back(e, now, id)) {
    e.queue_probe(id);
  }
}

void on_mismatch(Parts& e, const wire::MismatchBody& told) {
  if (told.from >= e.peers.size() || told.to >= e.peers.size()) {
    ++e.counters.rejected_malformed;
    return;
  }
  e.disputes.settle({told.from, told.to, told.sent, told.expected});
}

}  // namespace

Verdict receive(Parts& e, base::Nanos now, const wire::Header& header, std::uint64_t exchange,
                std::uint32_t length, std::span<const std::byte> body) {
  const PeerId id = header.source;
  if (e.abandoned) {
    if ((e.lost || e.disputes.mismatch()) &&
        (header.type == wire::Type::kData || header.type == wire::Type::kProbe)) {
      reply_again(e, id, exchange, 0);
    }
    return Verdict::kNothing;
  }
  switch (header.type) {
    case wire::Type::kData:
      break;
    case wire::Type::kParity:
      e.silence.heard(now, &e.peers[id]);
      implied_ack(e, now, id, exchange);
      return on_parity(e, now, header, exchange, length);
    case wire::Type::kAck:
      decoded(e, wire::decode_ack(body),
              [&](const wire::AckBody& ack) { on_ack(e, now, header, exchange, ack); });
      return Verdict::kNothing;
    case wire::Type::kProbe:
      decoded(e, wire::decode_probe(body),
              [&](const wire::ProbeBody& probe) { on_probe(e, now, header, exchange, probe); });
      return Verdict::kNothing;
    case wire::Type::kLost:
      decoded(e, wire::decode_number(body),
              [&](std::uint32_t lost) { e.silence.told(now, id, lost); });
      return Verdict::kNothing;
    case wire::Type::kMismatch:
      decoded(e, wire::decode_mismatch(body),
              [&](const wire::MismatchBody& found) { on_mismatch(e, found); });
      return Verdict::kNothing;
    case wire::Type::kFill:
      e.counters.fills.came(header.packet);
      return Verdict::kNothing;
    case wire::Type::kElsewhere:
      decoded(e, wire::decode_elsewhere(body), [&](const Attendance::Elsewhere& elsewhere) {
        e.silence.heard(now, &e.peers[id]);
        if (e.numbers.runs(exchange)) e.attendance.says_elsewhere(id, elsewhere);
      });
      return Verdict::kNothing;
  }
  e.silence.heard(now, &e.peers[id]);
  implied_ack(e, now, id, exchange);
  apply_ack(e, now, id, exchange, header.acknowledged, nullptr);
  return on_data(e, now, header, exchange, length);
}

bool accept_held(Parts& e, PeerId id, std::uint32_t packet, std::uint32_t length) {
  if (e.abandoned || e.disputes.disputed(id, e.numbers.current())) return false;
  if (length == expected_length(e, id, packet)) return accept(e, id, packet, length);
  e.dispute(id, e.numbers.current());
  return false;
}

void accept_recovered(Parts& e, base::Nanos now, PeerId id) {
  const ReceiveWindow& recv = e.peers[id].recv;
  for (std::uint32_t packet = recv.cumulative; packet < recv.total; ++packet) {
    if (recv.has(packet)) continue;
    take(e, id, packet);
    ++e.counters.data_recovered;
  }
  e.steps.came_at(now);
  e.reply(id, e.numbers.current(), 0);
}

}  // namespace alm::transport::engine

// Control packets: acknowledgements, probes, notices.
#include <algorithm>
#include <utility>

#include "transport/engine_parts.h"

namespace alm::transport::engine {
namespace {

// A control packet has no place in a block; the caller adds its body.
void fill_control(Parts& e, Emission* out, PeerId id, wire::Type type, std::uint64_t exchange) {
  out->header = wire::Header{};
  if (e.paths.any()) out->header.path = e.paths.of(id).path_of_answer();
  out->header.type = type;
  out->header.exchange = static_cast<std::uint16_t>(exchange);
  out->peer = id;
  out->body = Emission::Body::kControl;
  out->exchange = exchange;
  out->offset = 0;
  out->length = 0;
}

}  // namespace

bool emit_ack(Parts& e, Emission* out) {
  if (!e.acks.queued()) return false;
  const PeerId id = e.acks.take();
  Peer& peer = e.peers[id];
  Aside& aside = e.asides[id];
  peer.ack_queued = false;
  const std::uint64_t exchange = aside.reply_exchange;
  const std::uint32_t echo = std::exchange(peer.echo, 0);

  fill_control(e, out, id, wire::Type::kAck, exchange);
  wire::AckBody body;
  if (exchange < e.numbers.done_below()) {
    out->header.acknowledged = wire::kAcknowledgedAll;
    body.echo = echo;
  } else if (e.numbers.runs(exchange)) {
    body = OwedAcks::tell(peer.recv, echo, &aside.bitmap_turn);
    out->header.acknowledged = peer.recv.cumulative;
    out->header.packet = body.begin;
  } else if (exchange == e.numbers.entered()) {
    // What is held, but no evidence of loss: nobody waits for the rest yet, and what was refused
    // for want of room would be refused again.
    out->header.acknowledged = aside.early.cumulative;
    body.bitmap = aside.early.beyond.map();
  }
  out->control_bytes = static_cast<std::uint8_t>(wire::encode_ack(body, out->control));
  e.acks.pay(&peer, exchange);
  ++e.counters.acks_sent;
  return true;
}

bool emit_notice(Parts& e, Emission* out) {
  if (!e.acks.queued()) return false;
  const PeerId id = e.acks.take();
  e.peers[id].ack_queued = false;
  const auto type = e.disputes.mismatch() ? wire::Type::kMismatch : wire::Type::kLost;
  fill_control(e, out, id, type, e.asides[id].reply_exchange);
  std::size_t bytes = 0;
  if (e.disputes.mismatch()) {
    bytes = wire::encode_mismatch({e.disputes.mismatch()->from, e.disputes.mismatch()->to,
                                   e.disputes.mismatch()->sent, e.disputes.mismatch()->expected},
                                  out->control);
  } else {
    bytes = wire::encode_number(*e.lost, out->control);
  }
  out->control_bytes = static_cast<std::uint8_t>(bytes);
  return true;
}

bool emit_elsewhere(Parts& e, Emission* out) {
  const auto id = e.attendance.take_asking();
  if (!id || e.numbers.running() || !e.attendance.answer()) return false;
  fill_control(e, out, *id, wire::Type::kElsewhere, e.numbers.entered());
  out->control_bytes =
      static_cast<std::uint8_t>(wire::encode_elsewhere(*e.attendance.answer(), out->control));
  return true;
}

// Probes to all peers at the end leave no closer together than packets. A rank that has more to
// send, but may not, asks at once: it waits for the answers.
bool emit_probe(Parts& e, base::Nanos now, Emission* out) {
  if (!e.pace.rules() && e.send_left == 0 && now < e.probes.next_at()) return false;
  while (e.probes.queued()) {
    const PeerId id = e.probes.take();
    Peer& peer = e.peers[id];
    peer.probe_queued = false;
    const SendWindow& behind = e.asides[id].tail;
    const bool tail = behind.outstanding() > 0 ||
                      (e.numbers.has_tail() && e.disputes.disputed(id, e.numbers.tail()));
    if (!tail && !e.numbers.running()) continue;  // answered meanwhile
    if (tail && behind.outstanding() == 0) e.disputes.asked(id);
    const std::uint32_t next = tail ? behind.next : peer.send.next;
    e.probes.sent(now, &peer, &e.asides[id], tail, next,
                  std::max(e.frame_time, e.config.limit_time));
    fill_probe(e, now, out, id, tail);
    ++e.counters.probes_sent;
    if (sends_copies(e)) e.copies.push_back({id, out->exchange, std::nullopt});
    return true;
  }
  return false;
}

// Fills in the latest probe to this peer.
void fill_probe(Parts& e, base::Nanos now, Emission* out, PeerId id, bool tail) {
  const std::uint64_t exchange = tail ? e.numbers.tail() : e.numbers.current();
  fill_control(e, out, id, wire::Type::kProbe, exchange);
  if (e.paths.any()) out->header.path = e.paths.of(id).path_of_probe(now, tail);
  out->header.acknowledged = tail ? wire::kAcknowledgedAll : e.peers[id].recv.cumulative;
  wire::ProbeBody body = e.sizes.with(id, exchange, e.numbers).value_or(wire::ProbeBody{});
  body.number = e.peers[id].probe_number;
  out->control_bytes = static_cast<std::uint8_t>(wire::encode_probe(body, out->control));
}

// If the pace has slowed down, the link is full, and copies would fill it further.
bool sends_copies(const Parts& e) {
  return e.pace.rules() && !e.pace.slowed() && !e.trains.any() && !e.paths.any();
}

// Nothing will come any more that opens the window but acknowledgements, and peers that have
// nothing left to send hold them back for a cycle. What is sent from here on asks for them itself.
bool ask_for_acks(Parts& e) {
  if (!e.probes.ask_all()) return false;
  for (PeerId id = 0; id < e.peers.size(); ++id) {
    const SendWindow& window = e.peers[id].send;
    // A packet that was sent again, after all others, asks by itself.
    const bool asks = !e.pace.rules() && window.epoch_next == window.next;
    if (window.outstanding() > 0 && !asks) e.queue_probe(id);
  }
  return true;
}

}  // namespace alm::transport::engine

// Control packets: acknowledgements, probes, notices.
#include <algorithm>
#include <utility>

#include "transport/engine_parts.h"

namespace alm::transport {

// A control packet has no place in a block; the caller adds its body.
void EngineControl::fill_control(Emission* out, PeerId id, wire::Type type,
                                 std::uint64_t exchange) {
  out->header = wire::Header{};
  if (paths_.any()) out->header.path = paths_.of(id).path_of_answer();
  out->header.type = type;
  out->header.exchange = static_cast<std::uint16_t>(exchange);
  out->peer = id;
  out->body = Emission::Body::kControl;
  out->exchange = exchange;
  out->offset = 0;
  out->length = 0;
}

bool EngineControl::emit_ack(Emission* out) {
  if (!acks_.queued()) return false;
  const PeerId id = acks_.take();
  Peer& peer = peers_[id];
  Aside& aside = asides_[id];
  peer.ack_queued = false;
  const std::uint64_t exchange = aside.reply_exchange;
  const std::uint32_t echo = std::exchange(peer.echo, 0);

  fill_control(out, id, wire::Type::kAck, exchange);
  wire::AckBody body;
  if (exchange < numbers_.done_below()) {
    out->header.acknowledged = wire::kAcknowledgedAll;
    body.echo = echo;
  } else if (numbers_.runs(exchange)) {
    body = OwedAcks::tell(peer.recv, echo, &aside.bitmap_turn);
    out->header.acknowledged = peer.recv.cumulative;
    out->header.packet = body.begin;
  } else if (exchange == numbers_.entered()) {
    // What is held, but no evidence of loss: nobody waits for the rest yet, and what was refused
    // for want of room would be refused again.
    out->header.acknowledged = aside.early.cumulative;
    body.bitmap = aside.early.beyond.map();
  }
  out->control_bytes = static_cast<std::uint8_t>(wire::encode_ack(body, out->control));
  acks_.pay(&peer, exchange);
  ++counters_.acks_sent;
  return true;
}

bool EngineControl::emit_notice(Emission* out) {
  if (!acks_.queued()) return false;
  const PeerId id = acks_.take();
  peers_[id].ack_queued = false;
  const auto type = disputes_.mismatch() ? wire::Type::kMismatch : wire::Type::kLost;
  fill_control(out, id, type, asides_[id].reply_exchange);
  std::size_t bytes = 0;
  if (disputes_.mismatch()) {
    bytes = wire::encode_mismatch({disputes_.mismatch()->from, disputes_.mismatch()->to,
                                   disputes_.mismatch()->sent, disputes_.mismatch()->expected},
                                  out->control);
  } else {
    bytes = wire::encode_number(*lost_, out->control);
  }
  out->control_bytes = static_cast<std::uint8_t>(bytes);
  return true;
}

bool EngineControl::emit_elsewhere(Emission* out) {
  const auto id = attendance_.take_asking();
  if (!id || numbers_.running() || !attendance_.answer()) return false;
  fill_control(out, *id, wire::Type::kElsewhere, numbers_.entered());
  out->control_bytes =
      static_cast<std::uint8_t>(wire::encode_elsewhere(*attendance_.answer(), out->control));
  return true;
}

// Probes to all peers at the end leave no closer together than packets. A rank that has more to
// send, but may not, asks at once: it waits for the answers.
bool EngineControl::emit_probe(base::Nanos now, Emission* out) {
  if (!pace_.rules() && send_left_ == 0 && now < probes_.next_at()) return false;
  while (probes_.queued()) {
    const PeerId id = probes_.take();
    Peer& peer = peers_[id];
    peer.probe_queued = false;
    const SendWindow& behind = asides_[id].tail;
    const bool tail = behind.outstanding() > 0 ||
                      (numbers_.has_tail() && disputes_.disputed(id, numbers_.tail()));
    if (!tail && !numbers_.running()) continue;  // answered meanwhile
    if (tail && behind.outstanding() == 0) disputes_.asked(id);
    const std::uint32_t next = tail ? behind.next : peer.send.next;
    probes_.sent(now, &peer, &asides_[id], tail, next, std::max(frame_time_, config_.limit_time));
    fill_probe(now, out, id, tail);
    ++counters_.probes_sent;
    if (sends_copies()) copies_.push_back({id, out->exchange, std::nullopt});
    return true;
  }
  return false;
}

// Fills in the latest probe to this peer.
void EngineControl::fill_probe(base::Nanos now, Emission* out, PeerId id, bool tail) {
  const std::uint64_t exchange = tail ? numbers_.tail() : numbers_.current();
  fill_control(out, id, wire::Type::kProbe, exchange);
  if (paths_.any()) out->header.path = paths_.of(id).path_of_probe(now, tail);
  out->header.acknowledged = tail ? wire::kAcknowledgedAll : peers_[id].recv.cumulative;
  wire::ProbeBody body = sizes_.with(id, exchange, numbers_).value_or(wire::ProbeBody{});
  body.number = peers_[id].probe_number;
  out->control_bytes = static_cast<std::uint8_t>(wire::encode_probe(body, out->control));
}

// If the pace has slowed down, the link is full, and copies would fill it further.
bool EngineControl::sends_copies() const {
  return pace_.rules() && !pace_.slowed() && !trains_.any() && !paths_.any();
}

// Nothing will come any more that opens the window but acknowledgements, and peers that have
// nothing left to send hold them back for a cycle. What is sent from here on asks for them itself.
bool EngineControl::ask_for_acks() {
  if (!probes_.ask_all()) return false;
  for (PeerId id = 0; id < peers_.size(); ++id) {
    const SendWindow& window = peers_[id].send;
    // A packet that was sent again, after all others, asks by itself.
    const bool asks = !pace_.rules() && window.epoch_next == window.next;
    if (window.outstanding() > 0 && !asks) queue_probe(id);
  }
  return true;
}

}  // namespace alm::transport

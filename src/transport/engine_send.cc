// Data that is sent for the first time: which packet, by the schedule, and whether it may leave, by
// the send rule.
#include <algorithm>
#include <cassert>

#include "transport/engine_parts.h"

namespace alm::transport::engine {
namespace {

bool may_send(const Parts& e) {
  const std::uint32_t window = e.congestion.window();
  switch (e.config.send_rule) {
    case SendRule::kEither:
      return e.clock.allows(window) || e.unacked < window;
    case SendRule::kReceiveClock:
      return e.clock.allows(window);
    case SendRule::kUnacked:
      return e.unacked < window;
  }
  return false;
}

// The next packet of the block, which is sent for the first time.
void fill_next(Parts& e, base::Nanos now, Emission* out, PeerId id) {
  SendWindow& window = e.peers[id].send;
  fill_data(e, out, id, window, window.next, e.numbers.current(), false);
  if (e.paths.any()) {
    out->header.path = e.paths.take(now, id, window.next);
    ++e.counters.path_loads[out->header.path];
    if (e.paths.of(id).rested(now)) e.queue_probe(id);
  }
  ++window.next;
}

void count_sent(Parts& e, base::Nanos now, const Emission& sent) {
  e.congestion.sent(now, sent.peer, sent.header.packet, e.seen_trips());
  --e.send_left;
  ++e.unacked;
  ++e.counters.data_sent;
  e.timer_at(now + e.look_delay());
  e.peers[sent.peer].quiet_since = now;
  // An answer about the exchange before would not be timed.
  if (!e.trips.asks(sent.peer) || e.asides[sent.peer].tail.outstanding() > 0) return;
  e.trips.asked();
  e.queue_probe(sent.peer);
}

// A block far ahead of its acks, or the end of one to a peer that has nothing to send us.
bool ends_unanswered(const Parts& e, const Peer& peer) {
  return peer.send.next - peer.send.acked >= e.config.span_packets / 2 ||
         (peer.send.exhausted() && peer.recv.total == 0);
}

bool step_allowed(Parts& e, base::Nanos now, std::uint64_t step) {
  const clocks::StepClock::UnderWay under_way{e.congestion.window(), e.send_left,
                                              e.unacked - e.tail_unacked, e.trains.passed()};
  return e.steps.allows(now, step, under_way, &e.next_step_at);
}

// One packet of a train that was passed over, in a step this rank would idle in, or else in that of
// the train that is next.
bool emit_late(Parts& e, base::Nanos now, Emission* out) {
  const Train* train = e.trains.late(e.peers);
  if (train == nullptr) return false;
  const PeerId id = train->peer;
  const std::uint64_t following = e.trains.step();
  const std::uint64_t step = e.steps.idle_step(now, following);
  if (!e.peers[id].send.may_advance(e.config.span_packets) || !step_allowed(e, now, step))
    return false;
  fill_next(e, now, out, id);
  if (e.steps.runs_ahead(step, e.congestion.window()) || ends_unanswered(e, e.peers[id])) {
    out->header.flags |= wire::kFlagAckSoon;
  }
  e.steps.late_sent(step, following);
  count_sent(e, now, *out);
  e.trains.late_sent(e.peers);
  return true;
}

bool emit_step(Parts& e, base::Nanos now, Emission* out) {
  e.next_step_at = base::kNever;
  if (emit_late(e, now, out)) return true;
  if (!e.trains.pass_over_withheld(e.peers)) return false;
  const PeerId id = e.trains.next().peer;
  const std::uint64_t step = e.trains.step();
  const std::uint32_t window = e.congestion.window();
  if (!e.peers[id].send.may_advance(e.config.span_packets) || !step_allowed(e, now, step))
    return false;
  fill_next(e, now, out, id);
  if (e.steps.runs_ahead(step, window) || ends_unanswered(e, e.peers[id])) {
    out->header.flags |= wire::kFlagAckSoon;
  }
  if (step / e.cycle_packets != e.steps.last_step() / e.cycle_packets) e.delays.wrapped(now);
  e.steps.sent(now, step, window);
  count_sent(e, now, *out);
  e.trains.sent(e.peers);
  return true;
}

}  // namespace

// Whether the next packet may leave, as far as the pace goes.
bool due(Parts& e, base::Nanos now) {
  e.next_step_at = now >= e.pace.due_at() ? base::kNever : e.pace.due_at();
  return e.next_step_at == base::kNever;
}

bool emit_data(Parts& e, base::Nanos now, Emission* out) {
  if (!e.numbers.running()) return false;
  if (e.send_left == 0) {
    if (e.pace.slowed()) e.parities.stop();
    if (emit_parity(e, now, out)) return true;
    if (e.parities.left()) return false;  // it is not due
    // Where packets get lost there is no time for a timer to find out about the last ones.
    const bool lost = e.pace.rules() ? e.congestion.lossy() || e.congestion.was_lossy()
                                     : e.congestion.loses_alone();
    const bool ends = lost && e.rounds->steps == 0 && e.unacked > e.tail_unacked;
    return ends && ask_for_acks(e) && emit_probe(e, now, out);
  }
  if (e.trains.any()) return emit_step(e, now, out);
  if (e.pace.rules() && !due(e, now)) return false;
  const std::uint32_t window = e.congestion.window();
  if (!may_send(e)) {
    const bool ending = e.recv_left <= window && e.recv_left < e.send_left;
    return ending && ask_for_acks(e) && emit_probe(e, now, out);
  }
  if (!e.turns.choose(e.peers, [&] { e.delays.wrapped(now); })) return false;
  const PeerId id = e.turns.partner();
  const Peer& peer = e.peers[id];
  fill_next(e, now, out, id);
  // Ask where this rank waits for the answer: sending by acks alone with more to send than will
  // come; before that, where a rank that is behind sends to a peer whose own block ends, if the
  // window does not hold what no data will acknowledge; a block far ahead of its acks; or the end
  // of a block to a peer that has nothing to send us.
  const bool starved = e.recv_left == 0 || e.send_left > e.recv_left + window;
  const bool starving = window <= e.cycle_packets && e.send_left > e.recv_left &&
                        peer.recv.total - peer.recv.cumulative <= 1;
  if ((!e.clock.allows(window) && starved) || starving || ends_unanswered(e, peer)) {
    out->header.flags |= wire::kFlagAckSoon;
  }
  e.clock.sent(window);
  count_sent(e, now, *out);
  if (e.pace.rules()) e.pace.sent(now, out->length, peer.send.total > 1);
  e.turns.sent(peer.send.exhausted());
  return true;
}

bool emit_parity(Parts& e, base::Nanos now, Emission* out) {
  const auto turn = e.parities.next(e.peers);
  if (!turn || !due(e, now)) return false;
  e.parities.sent();
  const std::uint64_t bytes = e.sizes.sends(turn->peer);
  out->peer = turn->peer;
  out->body = Emission::Body::kParity;
  out->control_bytes = 0;
  out->exchange = e.numbers.current();
  out->offset = turn->index;
  out->length = e.sizes.length_of(bytes, 0);
  out->header = wire::Header{};
  out->header.type = wire::Type::kParity;
  out->header.exchange = static_cast<std::uint16_t>(out->exchange);
  out->header.packet = turn->index;
  out->header.acknowledged = static_cast<std::uint32_t>(bytes);
  if (e.parities.first_hand()) out->header.flags |= wire::kFlagFirstHand;
  e.pace.sent(now, out->length, e.peers[turn->peer].send.total > 1);
  e.peers[turn->peer].quiet_since = now;
  e.timer_at(now + e.look_delay());
  ++e.counters.parities_sent;
  return true;
}

void fill_data(Parts& e, Emission* out, PeerId id, const SendWindow& window, std::uint32_t packet,
               std::uint64_t exchange, bool tail) {
  assert(packet < window.total);
  Peer& peer = e.peers[id];
  out->peer = id;
  out->body = tail ? Emission::Body::kTail : Emission::Body::kBlock;
  out->control_bytes = 0;
  out->exchange = exchange;
  const std::uint64_t bytes = tail ? e.sizes.tail_sends(id) : e.sizes.sends(id);
  out->offset = e.sizes.offset_of(bytes, packet);
  out->length = e.sizes.length_of(bytes, packet);
  out->header = wire::Header{};
  out->header.type = wire::Type::kData;
  out->header.exchange = static_cast<std::uint16_t>(exchange);
  out->header.packet = packet;
  if (packet + 1 == window.total) out->header.flags |= wire::kFlagLast;
  if (!e.config.piggyback_acks) return;
  // A tail belongs to a complete exchange.
  out->header.acknowledged = tail ? wire::kAcknowledgedAll : peer.recv.cumulative;
  e.acks.pay(&peer, exchange);
}

}  // namespace alm::transport::engine

// Data that is sent for the first time: which packet, by the schedule, and whether it may leave, by
// the send rule.
#include <algorithm>
#include <cassert>

#include "transport/engine_parts.h"

namespace alm::transport {

bool EngineSending::may_send() const {
  const std::uint32_t window = congestion_.window();
  switch (config_.send_rule) {
    case SendRule::kEither:
      return clock_.allows(window) || unacked_ < window;
    case SendRule::kReceiveClock:
      return clock_.allows(window);
    case SendRule::kUnacked:
      return unacked_ < window;
  }
  return false;
}

// Whether the next packet may leave, as far as the pace goes.
bool EngineSending::due(base::Nanos now) {
  next_step_at_ = now >= pace_.due_at() ? base::kNever : pace_.due_at();
  return next_step_at_ == base::kNever;
}

bool EngineSending::emit_data(base::Nanos now, Emission* out) {
  if (!numbers_.running()) return false;
  if (send_left_ == 0) {
    // Where packets get lost there is no time for a timer to find out about the last ones.
    const bool lost =
        pace_.rules() ? congestion_.lossy() || congestion_.was_lossy() : congestion_.loses_alone();
    const bool ends = lost && rounds_->steps == 0 && unacked_ > tail_unacked_;
    return ends && ask_for_acks() && emit_probe(now, out);
  }
  if (trains_.any()) return emit_step(now, out);
  if (pace_.rules() && !due(now)) return false;
  const std::uint32_t window = congestion_.window();
  if (!may_send()) {
    const bool ending = recv_left_ <= window && recv_left_ < send_left_;
    return ending && ask_for_acks() && emit_probe(now, out);
  }
  if (!turns_.choose(peers_, [&] { delays_.wrapped(now); })) return false;
  const PeerId id = turns_.partner();
  const Peer& peer = peers_[id];
  fill_next(now, out, id);
  // Ask where this rank waits for the answer: sending by acks alone with more to send than will
  // come; before that, where a rank that is behind sends to a peer whose own block ends, if the
  // window does not hold what no data will acknowledge; a block far ahead of its acks; or the end
  // of a block to a peer that has nothing to send us.
  const bool starved = recv_left_ == 0 || send_left_ > recv_left_ + window;
  const bool starving = window <= cycle_packets_ && send_left_ > recv_left_ &&
                        peer.recv.total - peer.recv.cumulative <= 1;
  if ((!clock_.allows(window) && starved) || starving || ends_unanswered(peer)) {
    out->header.flags |= wire::kFlagAckSoon;
  }
  clock_.sent(window);
  count_sent(now, *out);
  if (pace_.rules()) pace_.sent(now, out->length, out->header.packet > 0);
  turns_.sent(peer.send.exhausted());
  return true;
}

// A block far ahead of its acks, or the end of one to a peer that has nothing to send us.
bool EngineSending::ends_unanswered(const Peer& peer) const {
  return peer.send.next - peer.send.acked >= config_.span_packets / 2 ||
         (peer.send.exhausted() && peer.recv.total == 0);
}

// The next packet of the block, which is sent for the first time.
void EngineSending::fill_next(base::Nanos now, Emission* out, PeerId id) {
  SendWindow& window = peers_[id].send;
  fill_data(out, id, window, window.next, numbers_.current(), false);
  if (paths_.any()) {
    out->header.path = paths_.take(now, id, window.next);
    ++counters_.path_loads[out->header.path];
    if (paths_.of(id).rested(now)) queue_probe(id);
  }
  ++window.next;
}

void EngineSending::count_sent(base::Nanos now, const Emission& sent) {
  congestion_.sent(now, sent.peer, sent.header.packet, delays_.answers().round_trip());
  --send_left_;
  ++unacked_;
  ++counters_.data_sent;
  timer_at(now + look_delay());
  peers_[sent.peer].quiet_since = now;
}

void EngineSending::fill_data(Emission* out, PeerId id, const SendWindow& window,
                              std::uint32_t packet, std::uint64_t exchange, bool tail) {
  assert(packet < window.total);
  Peer& peer = peers_[id];
  out->peer = id;
  out->body = tail ? Emission::Body::kTail : Emission::Body::kBlock;
  out->control_bytes = 0;
  out->exchange = exchange;
  out->offset = std::uint64_t{packet} * sizes_.packet_bytes();
  out->length = sizes_.length_of(tail ? sizes_.tail_sends(id) : sizes_.sends(id), packet);
  out->header = wire::Header{};
  out->header.type = wire::Type::kData;
  out->header.exchange = static_cast<std::uint16_t>(exchange);
  out->header.packet = packet;
  if (packet + 1 == window.total) out->header.flags |= wire::kFlagLast;
  if (!config_.piggyback_acks) return;
  // A tail belongs to a complete exchange.
  out->header.acknowledged = tail ? wire::kAcknowledgedAll : peer.recv.cumulative;
  acks_.pay(&peer, exchange);
}

// ---- in the steps of a schedule made for uneven blocks (trains.h, clocks/step_clock.h)

bool EngineSending::emit_step(base::Nanos now, Emission* out) {
  next_step_at_ = base::kNever;
  if (emit_late(now, out)) return true;
  if (!trains_.pass_over_withheld(peers_)) return false;
  const PeerId id = trains_.next().peer;
  const std::uint64_t step = trains_.step();
  const std::uint32_t window = congestion_.window();
  if (!peers_[id].send.may_advance(config_.span_packets) || !step_allowed(now, step)) return false;
  fill_next(now, out, id);
  if (steps_.runs_ahead(step, window) || ends_unanswered(peers_[id])) {
    out->header.flags |= wire::kFlagAckSoon;
  }
  if (step / cycle_packets_ != steps_.last_step() / cycle_packets_) delays_.wrapped(now);
  steps_.sent(now, step, window);
  count_sent(now, *out);
  trains_.sent(peers_);
  return true;
}

// One packet of a train that was passed over, in a step this rank would idle in, or else in that of
// the train that is next.
bool EngineSending::emit_late(base::Nanos now, Emission* out) {
  const Train* train = trains_.late(peers_);
  if (train == nullptr) return false;
  const PeerId id = train->peer;
  const std::uint64_t following = trains_.step();
  const std::uint64_t step = steps_.idle_step(now, following);
  if (!peers_[id].send.may_advance(config_.span_packets) || !step_allowed(now, step)) return false;
  fill_next(now, out, id);
  if (steps_.runs_ahead(step, congestion_.window()) || ends_unanswered(peers_[id])) {
    out->header.flags |= wire::kFlagAckSoon;
  }
  steps_.late_sent(step, following);
  count_sent(now, *out);
  trains_.late_sent(peers_);
  return true;
}

bool EngineSending::step_allowed(base::Nanos now, std::uint64_t step) {
  const clocks::StepClock::UnderWay under_way{congestion_.window(), send_left_,
                                              unacked_ - tail_unacked_, trains_.passed()};
  return steps_.allows(now, step, under_way, &next_step_at_);
}

}  // namespace alm::transport

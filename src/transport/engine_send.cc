// What goes out next; for data, the schedule and the send rule: which packet, and whether it may.
#include <algorithm>
#include <cassert>
#include <limits>

#include "transport/engine.h"

namespace alm::transport {

bool Engine::next(base::Nanos now, Emission* out) {
  if (abandoned_) return emit_notice(out);
  if (now >= next_timer_) scan_timers(now);
  return emit_ack(out) || emit_elsewhere(out) || emit_resend(now, out) || emit_probe(now, out) ||
         emit_data(now, out);
}

bool Engine::may_send() const {
  const bool by_receive_clock = eta_ < window_ || spare_;
  const bool by_acks = unacked_ < window_;
  switch (config_.send_rule) {
    case SendRule::kEither:
      return by_receive_clock || by_acks;
    case SendRule::kReceiveClock:
      return by_receive_clock;
    case SendRule::kUnacked:
      return by_acks;
  }
  return false;
}

void Engine::load_round() {
  turn_.clear();
  round_withheld_ = 0;
  position_ = 0;
  train_left_ = train_length();
  if (round_ >= round_recv_left_.size()) return;
  for (std::uint32_t i = rounds_->send_begin[round_]; i < rounds_->send_begin[round_ + 1]; ++i) {
    const Peer& peer = peers_[rounds_->send[i]];
    if (peer.send.exhausted()) continue;
    if (peer.withheld) {
      ++round_withheld_;
    } else {
      turn_.push_back(rounds_->send[i]);
    }
  }
}

void Engine::make_ready(PeerId id) {
  Peer& peer = peers_[id];
  if (!running_ || !peer.withheld) return;
  peer.withheld = false;
  if (peer.send.exhausted()) return;  // an empty block
  make_ready_in_steps(id);
  if (send_round_[id] != round_) return;
  --round_withheld_;
  turn_.push_back(id);
}

std::uint32_t Engine::train_length() const {
  return rounds_->interleaved ? config_.grain_packets : std::numeric_limits<std::uint32_t>::max();
}

// It has been sent everything.
void Engine::drop_partner() {
  turn_.erase(turn_.begin() + position_);
  train_left_ = train_length();
}

void Engine::next_partner(base::Nanos now) {
  train_left_ = train_length();
  if (++position_ < turn_.size()) return;
  position_ = 0;
  measure_cycle(now);
}

void Engine::measure_cycle(base::Nanos now) {
  // Timers count the cycles of the exchange as it really runs: an oversubscribed uplink stretches
  // them. One stalled cycle must not stretch them without end.
  constexpr base::Nanos kStretchMax = 16;
  const base::Nanos sample = std::min(now - last_wrap_, kStretchMax * nominal_cycle_);
  cycle_ = std::max(nominal_cycle_, cycle_ + (sample - cycle_) / 4);
  last_wrap_ = now;
}

bool Engine::choose_partner(base::Nanos now) {
  for (;;) {
    if (turn_.empty()) {
      if (round_withheld_ > 0 || round_ >= round_recv_left_.size() ||
          round_recv_left_[round_] > 0) {
        return false;
      }
      ++round_;
      load_round();
      continue;
    }
    std::size_t blocked = 0;
    while (!turn_.empty() && blocked <= turn_.size()) {
      if (position_ >= turn_.size()) position_ = 0;
      // A partner whose train has left is not looked at again: with many peers that is slow.
      if (train_left_ > 0) {
        const SendWindow& window = peers_[turn_[position_]].send;
        if (window.exhausted()) {
          drop_partner();
          continue;
        }
        if (window.may_advance(config_.span_packets)) return true;
      }
      next_partner(now);
      ++blocked;
    }
    if (!turn_.empty()) return false;
  }
}

bool Engine::emit_data(base::Nanos now, Emission* out) {
  if (!running_) return false;
  if (send_left_ == 0) {
    // Where packets get lost there is no time for a timer to find out about the last ones.
    const bool lost = config_.pace > 0 ? lossy_ || was_lossy_ : loses_alone();
    const bool ends = lost && rounds_->steps == 0 && unacked_ > tail_unacked_;
    return ends && ask_for_acks() && emit_probe(now, out);
  }
  if (stepping()) return emit_step(now, out);
  if (config_.pace > 0 && !due(now)) return false;
  if (!may_send()) {
    const bool ending = recv_left_ <= window_ && recv_left_ < send_left_;
    return ending && ask_for_acks() && emit_probe(now, out);
  }
  if (!choose_partner(now)) return false;
  const PeerId id = turn_[position_];
  Peer& peer = peers_[id];
  const std::uint32_t packet = peer.send.next;
  const bool on_acks = eta_ >= window_ && !spare_;
  fill_data(out, id, peer.send, packet, current(), false);
  choose_path(now, out);
  ++peer.send.next;
  // Ask where this rank waits for the answer: sending by acks alone with more to send than will
  // come; before that, where a rank that is behind sends to a peer whose own block ends, if the
  // window does not hold what no data will acknowledge; a block far ahead of its acks; or the end
  // of a block to a peer that has nothing to send us.
  const bool starved = recv_left_ == 0 || send_left_ > recv_left_ + window_;
  const bool starving = window_ <= cycle_packets_ && send_left_ > recv_left_ &&
                        peer.recv.total - peer.recv.cumulative <= 1;
  if ((on_acks && starved) || starving || ends_unanswered(peer)) {
    out->header.flags |= wire::kFlagAckSoon;
  }
  --train_left_;
  if (eta_ >= window_ && spare_) {
    spare_ = false;
  } else {
    ++eta_;
  }
  count_sent(now, *out);
  if (config_.pace > 0) paced(now, out->length, packet > 0);
  if (peer.send.exhausted()) drop_partner();
  return true;
}

// Whether the next packet may leave, as far as the pace goes.
bool Engine::due(base::Nanos now) {
  next_step_at_ = base::kNever;
  if (now >= paced_at_) return true;
  next_step_at_ = paced_at_;
  return false;
}

// A packet has left. A rank that is late makes up for a burst and no more.
void Engine::paced(base::Nanos now, std::uint32_t length, bool follows) {
  const base::Nanos slack = pace_ * config_.pace_burst_packets;
  const std::uint64_t full = config_.datagram_bytes + kFramingBytes;
  const std::uint64_t own = length + wire::kHeaderBytes + kFramingBytes;
  const auto least = static_cast<std::uint64_t>(config_.pace_end_least * static_cast<double>(full));
  const std::uint64_t frame = follows ? std::max(own, least) : own;
  paced_at_ = std::max(paced_at_, now - slack) +
              pace_ * static_cast<base::Nanos>(frame) / static_cast<base::Nanos>(full);
  ++pace_sent_;
  if (config_.pace_yields) adapt_pace();
}

// Once for what is sent in a round trip: a loss is known of that much later.
void Engine::adapt_pace() {
  constexpr std::uint64_t kPacketsMin = 64;
  constexpr std::uint64_t kMuch = 16, kLittle = 64;  // one in so many
  constexpr base::Nanos kSlowest = 8;
  const auto on_the_way = static_cast<std::uint64_t>(config_.round_trip / pace_);
  if (pace_sent_ < std::max(kPacketsMin, on_the_way)) return;
  if (pace_lost_ * kMuch > pace_sent_) {
    pace_ = std::min(pace_ + pace_ / 4, kSlowest * config_.pace);
  } else if (pace_lost_ * kLittle < pace_sent_) {
    pace_ -= (pace_ - config_.pace + 3) / 4;
  }
  pace_sent_ = pace_lost_ = 0;
}

// A block far ahead of its acks, or the end of one to a peer that has nothing to send us.
bool Engine::ends_unanswered(const Peer& peer) const {
  return peer.send.next - peer.send.acked >= config_.span_packets / 2 ||
         (peer.send.exhausted() && peer.recv.total == 0);
}

void Engine::count_sent(base::Nanos now, const Emission& sent) {
  sends_.add(now, sent.peer, sent.header.packet);
  --send_left_;
  ++unacked_;
  yield_.sent();
  crowd_.sent();
  window_ = yield_.window();
  ++counters_.data_sent;
  timer_at(now + least_delay());
  peers_[sent.peer].quiet_since = now;
}

// Nothing will come any more that opens the window but acknowledgements, and peers that have
// nothing left to send hold them back for a cycle. What is sent from here on asks for them itself.
bool Engine::ask_for_acks() {
  if (asked_) return false;
  asked_ = true;
  for (PeerId id = 0; id < peers_.size(); ++id) {
    const SendWindow& window = peers_[id].send;
    // A packet that was sent again, after all others, asks by itself.
    const bool asks = config_.pace == 0 && window.epoch_next == window.next;
    if (window.outstanding() > 0 && !asks) queue_probe(id);
  }
  return true;
}

void Engine::fill_data(Emission* out, PeerId id, const SendWindow& window, std::uint32_t packet,
                       std::uint64_t exchange, bool tail) {
  assert(packet < window.total);
  Peer& peer = peers_[id];
  out->peer = id;
  out->body = tail ? Emission::Body::kTail : Emission::Body::kBlock;
  out->control_bytes = 0;
  out->exchange = exchange;
  out->offset = std::uint64_t{packet} * packet_bytes_;
  out->length = length_of((tail ? tail_sizes_ : send_sizes_).of(id), packet);
  out->header = wire::Header{};
  out->header.type = wire::Type::kData;
  out->header.exchange = static_cast<std::uint16_t>(exchange);
  out->header.packet = packet;
  if (packet + 1 == window.total) out->header.flags |= wire::kFlagLast;
  if (!config_.piggyback_acks) return;
  // A tail belongs to a complete exchange.
  out->header.acknowledged = tail ? wire::kAcknowledgedAll : peer.recv.cumulative;
  if (peer.owed_exchange <= exchange) paid(id);
}

}  // namespace alm::transport

#include "transport/engine.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace alm::transport {
namespace {

const Rounds kNoRounds;

}  // namespace

EngineState::EngineState(const Config& config, PeerId self, std::uint32_t peers)
    : config_(config),
      self_(self),
      peers_(peers),
      disputes_(self, peers),
      silence_(config),
      rounds_(&kNoRounds),
      turns_(config),
      congestion_(config),
      pace_(config),
      sizes_(config.datagram_bytes - wire::kHeaderBytes),
      steps_(config.packet_time, config.round_trip,
             config.pace > 0 ? std::optional(config.pace_burst_packets) : std::nullopt),
      delays_(config),
      asides_(peers),
      paths_(config, self, peers),
      attendance_(peers) {
  assert(config.datagram_bytes > wire::kHeaderBytes + wire::kAckBytesMax);
  assert(config.window_packets >= 1 && config.grain_packets >= 1);
  assert(config.retransmit_budget_packets >= 1);
  assert(self < peers && peers <= 65536);
}

void Engine::start(base::Nanos now, const Rounds& rounds, const BlockSizes& send,
                   const BlockSizes& recv, std::span<const std::uint8_t> withheld,
                   bool reports_arrivals) {
  assert(!numbers_.running() && !abandoned_);
  assert(rounds.send_begin.size() == rounds.recv_begin.size());
  assert(withheld.empty() || withheld.size() == peers_.size());
  numbers_.enter();
  silence_.begin(now);
  rounds_ = &rounds;
  sizes_.begin(send, recv);
  clock_.begin();
  probes_.begin();
  disputes_.begin();
  attendance_.begin();
  early_bytes_ = 0;
  reports_arrivals_ = reports_arrivals;
  arrivals_.clear();
  const std::uint64_t largest = begin_blocks(now, withheld);
  if (send.of(self_) != recv.of(self_)) {
    disputes_.settle({self_, self_, send.of(self_), recv.of(self_)});
    return abandon(std::nullopt);
  }
  const std::size_t partners = turns_.begin(rounds, withheld, peers_);
  paths_.begin(rounds, peers_);
  // With uneven blocks a rank does not know how much others send to whom.
  begin_window(now, send.each.empty() && recv.each.empty(), largest, partners);
  trains_.begin(rounds.trains, peers_);
  steps_.begin(now, rounds, send_left_);
  next_step_at_ = base::kNever;
  turns_.enter(peers_);
  timer_at(now + look_delay());
}

// Returns the bytes of the largest block.
std::uint64_t Engine::begin_blocks(base::Nanos now, std::span<const std::uint8_t> withheld) {
  send_left_ = recv_left_ = 0;
  std::uint64_t largest = 0;
  for (PeerId id = 0; id < peers_.size(); ++id) {
    Peer& peer = peers_[id];
    peer.send = SendWindow{};
    peer.recv = ReceiveWindow{};
    const ReceiveWindow early = std::exchange(asides_[id].early, {});
    peer.quiet_since = now;
    peer.wait_since = now;
    peer.backoff = 0;
    peer.warned = false;
    peer.probe_of_tail = true;
    peer.withheld = !withheld.empty() && withheld[id] != 0;
    if (id == self_) continue;
    largest = std::max({largest, sizes_.sends(id), sizes_.expects(id)});
    peer.send.total = sizes_.packets_of(sizes_.sends(id));
    peer.recv.total = sizes_.packets_of(sizes_.expects(id));
    // Early data lost or refused is asked for now; the ack leaves after the held data is replayed.
    peer.recv.seen = std::min(early.seen, peer.recv.total);
    if (early.hole()) reply(id, numbers_.current(), 0);
    // No data will acknowledge what came last in the exchange before, and its sender cannot end
    // this one without.
    if (peer.send.total == 0 && peer.owed_since != base::kNever) reply(id, peer.owed_exchange, 0);
    if (!Disputes::fits_early(peer.recv.total, early)) dispute(id, numbers_.current());
    send_left_ += peer.send.total;
    recv_left_ += peer.recv.total;
  }
  return largest;
}

// `even`: all blocks have one size. `partners`: the most in a round.
void Engine::begin_window(base::Nanos now, bool even, std::uint64_t largest, std::size_t partners) {
  symmetric_ = even && send_left_ == recv_left_;
  std::uint32_t window = config_.window_packets;
  const bool single = even && largest <= sizes_.packet_bytes();
  if (single && config_.single_window_packets > 0) {
    window = config_.single_window_packets;
  } else if (even && send_left_ <= config_.burst_packets) {
    window = std::max(window, config_.burst_packets);
  }
  window = std::max(window, rounds_->window_least);
  const std::uint64_t full = config_.datagram_bytes + kFramingBytes;
  const std::uint64_t payload = std::min<std::uint64_t>(sizes_.packet_bytes_of(largest), largest);
  const std::uint64_t frame = payload + wire::kHeaderBytes + kFramingBytes;
  const auto of_frame = [&](base::Nanos time) {
    return time * static_cast<base::Nanos>(frame) / static_cast<base::Nanos>(full);
  };
  frame_time_ = of_frame(config_.packet_time);
  const std::uint64_t train =
      std::clamp<std::uint64_t>(sizes_.packets_of(largest), 1, config_.grain_packets);
  cycle_packets_ = std::max<std::uint64_t>(1, partners * train);
  if (now - released_ > config_.yield_memory) {
    congestion_.forget();
    pace_.forget();
  }
  congestion_.begin(now, window, cycle_packets_, of_frame(config_.limit_time),
                    single && config_.single_window_packets > 0);
  base::Nanos packet_time = frame_time_;
  if (pace_.rules()) {
    packet_time = std::max(packet_time, pace_.time_of(frame));
    pace_.begin(now);
  }
  const std::uint64_t packets = std::max(send_left_, recv_left_);
  NominalTimes nominal{
      .cycle = static_cast<base::Nanos>(cycle_packets_) * packet_time,
      .total = static_cast<base::Nanos>(packets) * packet_time + config_.round_trip / 2,
      .cycles = std::max<std::uint64_t>(1, packets / cycle_packets_)};
  if (rounds_->steps > 0) {
    const std::uint64_t least = std::max<std::uint64_t>(1, packets);
    nominal.total = nominal.total / static_cast<base::Nanos>(least) *
                    static_cast<base::Nanos>(std::max(rounds_->steps, least));
    nominal.cycles = std::max<std::uint64_t>(1, rounds_->steps / cycle_packets_);
  }
  delays_.begin(now, nominal);
}

void Engine::make_ready(PeerId id) {
  Peer& peer = peers_[id];
  if (!numbers_.running() || !peer.withheld) return;
  peer.withheld = false;
  if (peer.send.exhausted()) return;  // an empty block
  trains_.make_ready(id);
  turns_.make_ready(id);
}

bool Engine::next(base::Nanos now, Emission* out) {
  if (abandoned_) return emit_notice(out);
  if (now >= next_timer_) {
    next_timer_ = base::kNever;
    for (PeerId id = 0; id < peers_.size(); ++id) {
      if (id != self_) timer_at(scan_peer(now, id));
    }
  }
  return emit_ack(out) || emit_elsewhere(out) || emit_resend(now, out) || emit_probe(now, out) ||
         emit_data(now, out);
}

Verdict Engine::on_packet(base::Nanos now, const wire::Header& header, std::uint64_t exchange,
                          std::uint32_t length, std::span<const std::byte> body) {
  const Verdict verdict = receive(now, header, exchange, length, body);
  if (mismatch() && !abandoned_) abandon(std::nullopt);
  return verdict;
}

bool Engine::take_arrival(PeerId* peer) {
  if (arrivals_.empty()) return false;
  *peer = arrivals_.take();
  return true;
}

void Engine::release(base::Nanos now) {
  assert(complete());
  // What losses cost is no reason to find out about the next one later; nor is the time in which
  // blocks were withheld.
  if (!congestion_.lossy() && !turns_.withholds()) delays_.measure_jitter(now);
  if (!turns_.withholds()) delays_.measure_packets(now);
  congestion_.end(now, delays_.answers().round_trip());
  released_ = now;
  for (PeerId id = 0; id < peers_.size(); ++id) {
    asides_[id].tail = std::exchange(peers_[id].send, {});
    peers_[id].probe_of_tail = true;
  }
  paths_.end();
  sizes_.end();
  tail_unacked_ = unacked_;
  tail_resends_ = std::exchange(resends_, 0);
  numbers_.leave();
  rounds_ = &kNoRounds;
  turns_.end();
  trains_.end();
  steps_.end();
  if (tail_unacked_ > 0 || acks_.owing() > 0) timer_at(now + delays_.cycle());
}

void Engine::abandon(std::optional<std::uint32_t> lost) {
  abandoned_ = true;
  lost_ = lost;
  numbers_.leave();
  for (PeerId id = 0; id < peers_.size(); ++id) {
    peers_[id] = Peer{};
    asides_[id] = Aside{};
  }
  paths_.abandon();
  disputes_.abandon();
  attendance_.abandon();
  rounds_ = &kNoRounds;
  sizes_.forget();
  turns_.abandon();
  trains_.end();
  steps_.end();
  arrivals_.clear();
  acks_.abandon();
  resend_queue_.clear();
  probes_.abandon();
  copies_.clear();
  const bool tells = lost_ || mismatch();
  for (PeerId id = 0; tells && id < peers_.size(); ++id) {
    if (id != self_) reply(id, numbers_.entered(), 0);
  }
  unacked_ = tail_unacked_ = send_left_ = recv_left_ = 0;
  resends_ = tail_resends_ = 0;
  next_timer_ = next_step_at_ = base::kNever;
}

}  // namespace alm::transport

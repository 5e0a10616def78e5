#include "transport/engine.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace alm::transport {
namespace {

const Rounds kNoRounds;

}  // namespace

Engine::Engine(const Config& config, PeerId self, std::uint32_t peers)
    : config_(config),
      self_(self),
      packet_bytes_(config.datagram_bytes - wire::kHeaderBytes),
      peers_(peers),
      rounds_(&kNoRounds),
      window_(config.window_packets),
      pace_(config.pace),
      sends_(std::max(config.window_packets, config.burst_packets)),
      jitter_(config.timer_jitter),
      asides_(peers) {
  assert(config.datagram_bytes > wire::kHeaderBytes + wire::kAckBytesMax);
  assert(config.window_packets >= 1 && config.grain_packets >= 1);
  assert(config.retransmit_budget_packets >= 1);
  assert(self < peers && peers <= 65536);
  make_paths();
}

std::uint32_t Engine::packets_of(std::uint64_t bytes) const {
  const std::uint64_t packets = (bytes + packet_bytes_ - 1) / packet_bytes_;
  assert(packets < wire::kAcknowledgedAll);
  return static_cast<std::uint32_t>(packets);
}

std::uint32_t Engine::length_of(std::uint64_t bytes, std::uint32_t packet) const {
  const std::uint64_t offset = std::uint64_t{packet} * packet_bytes_;
  assert(offset < bytes);
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(packet_bytes_, bytes - offset));
}

void Engine::start(base::Nanos now, const Rounds& rounds, const BlockSizes& send,
                   const BlockSizes& recv, std::span<const std::uint8_t> withheld,
                   bool reports_arrivals) {
  assert(!running_ && !abandoned_);
  assert(rounds.send_begin.size() == rounds.recv_begin.size());
  assert(withheld.empty() || withheld.size() == peers_.size());
  ++entered_;
  running_ = true;
  started_ = now;
  listening_since_ = listened(now);
  next_check_ = now;
  rounds_ = &rounds;
  send_sizes_ = send;
  recv_sizes_ = recv;
  lossy_ = false;
  sends_.clear();
  eta_ = 0;
  banked_ = 0;
  spare_ = false;
  asked_ = false;
  in_dispute_ = false;
  early_bytes_ = 0;
  reports_arrivals_ = reports_arrivals;
  arrivals_.clear();
  send_left_ = 0;
  recv_left_ = 0;
  std::uint64_t largest = 0;
  bool own_agrees = true;
  for (PeerId id = 0; id < peers_.size(); ++id) {
    Peer& peer = peers_[id];
    peer.send = SendWindow{};
    peer.recv = ReceiveWindow{};
    const ReceiveWindow early = std::exchange(asides_[id].early, {});
    asides_[id].not_entered_at = 0;
    asides_[id].elsewhere.reset();
    peer.quiet_since = now;
    peer.wait_since = now;
    peer.backoff = 0;
    peer.warned = false;
    peer.probe_of_tail = true;
    peer.withheld = !withheld.empty() && withheld[id] != 0;
    if (id == self_) {
      own_agrees = send.of(id) == recv.of(id);
      continue;
    }
    largest = std::max({largest, send.of(id), recv.of(id)});
    peer.send.total = packets_of(send.of(id));
    peer.recv.total = packets_of(recv.of(id));
    // Early data lost or refused is asked for now; the ack leaves after the held data is replayed.
    peer.recv.seen = std::min(early.seen, peer.recv.total);
    if (early.hole()) reply(id, current(), 0);
    // No data will acknowledge what came last in the exchange before, and its sender cannot end
    // this one without.
    if (peer.send.total == 0 && peer.owed_since != base::kNever) reply(id, peer.owed_exchange, 0);
    if (!fits_early(id, early)) dispute(id, current());
    send_left_ += peer.send.total;
    recv_left_ += peer.recv.total;
  }

  if (!own_agrees) return give_up({self_, self_, send.of(self_), recv.of(self_)});

  window_ = config_.window_packets;
  // With uneven blocks a rank does not know how much others send to whom.
  const bool even = send.each.empty() && recv.each.empty();
  if (even && send_left_ <= config_.burst_packets) {
    window_ = std::max(window_, config_.burst_packets);
  }
  symmetric_ = even && send_left_ == recv_left_;

  const std::size_t rounds_count = rounds.count();
  round_recv_left_.assign(rounds_count, 0);
  std::size_t partners_max = 0;
  for (std::size_t round = 0; round < rounds_count; ++round) {
    for (std::uint32_t i = rounds.recv_begin[round]; i < rounds.recv_begin[round + 1]; ++i) {
      Peer& peer = peers_[rounds.recv[i]];
      peer.round = static_cast<std::uint32_t>(round);
      round_recv_left_[round] += peer.recv.total;
    }
    partners_max = std::max<std::size_t>(partners_max,
                                         rounds.send_begin[round + 1] - rounds.send_begin[round]);
  }

  if (many_paths()) begin_paths(rounds);

  send_round_.assign(withheld.size(), 0);
  for (std::size_t round = 0; !withheld.empty() && round < rounds_count; ++round) {
    for (std::uint32_t i = rounds.send_begin[round]; i < rounds.send_begin[round + 1]; ++i) {
      send_round_[rounds.send[i]] = static_cast<std::uint32_t>(round);
    }
  }

  const std::uint32_t largest_packets = packets_of(largest);
  const std::uint64_t full = config_.datagram_bytes + kFramingBytes;
  const std::uint64_t frame = std::min(full, largest + wire::kHeaderBytes + kFramingBytes);
  frame_time_ =
      config_.packet_time * static_cast<base::Nanos>(frame) / static_cast<base::Nanos>(full);
  const std::uint64_t train = std::clamp<std::uint64_t>(largest_packets, 1, config_.grain_packets);
  cycle_packets_ = std::max<std::uint64_t>(1, partners_max * train);
  if (now - released_ > config_.yield_memory) {
    yield_.forget();
    pace_ = config_.pace;
  }
  yield_.begin(window_, cycle_packets_);
  crowd_.begin(
      config_.limit_time * static_cast<base::Nanos>(frame) / static_cast<base::Nanos>(full),
      cycle_packets_);
  window_ = yield_.window();
  base::Nanos packet_time = frame_time_;
  if (config_.pace > 0) {
    packet_time = std::max(
        packet_time, pace_ * static_cast<base::Nanos>(frame) / static_cast<base::Nanos>(full));
    paced_at_ = now;
  }
  nominal_cycle_ = static_cast<base::Nanos>(cycle_packets_) * packet_time;
  nominal_total_ = static_cast<base::Nanos>(std::max(send_left_, recv_left_)) * packet_time +
                   config_.round_trip / 2;
  cycles_ = std::max<std::uint64_t>(1, std::max(send_left_, recv_left_) / cycle_packets_);
  cycle_ = nominal_cycle_;
  last_wrap_ = now;
  round_ = 0;
  start_steps(now);
  load_round();
  timer_at(now + least_delay());
}

bool Engine::complete() const {
  return running_ && !in_dispute_ && send_left_ == 0 && recv_left_ == 0 && tail_unacked_ == 0;
}

void Engine::release(base::Nanos now) {
  assert(complete());
  measure_jitter(now);
  was_lossy_ = lossy_;
  measure_spacing(now);
  released_ = now;
  for (PeerId id = 0; id < peers_.size(); ++id) {
    asides_[id].tail = std::exchange(peers_[id].send, {});
    peers_[id].probe_of_tail = true;
    if (many_paths()) paths_[id].end();
  }
  tail_sizes_ = send_sizes_;
  if (!send_sizes_.each.empty()) {
    tail_bytes_.assign(send_sizes_.each.begin(), send_sizes_.each.end());
    tail_sizes_.each = tail_bytes_;
  }
  tail_recv_sizes_ = recv_sizes_;
  if (!recv_sizes_.each.empty()) {
    tail_recv_bytes_.assign(recv_sizes_.each.begin(), recv_sizes_.each.end());
    tail_recv_sizes_.each = tail_recv_bytes_;
  }
  tail_unacked_ = unacked_;
  tail_resends_ = resends_;
  resends_ = 0;
  running_ = false;
  rounds_ = &kNoRounds;
  send_sizes_ = BlockSizes{};
  recv_sizes_ = BlockSizes{};
  if (tail_unacked_ > 0 || owing_ > 0) timer_at(now + cycle());
}

void Engine::abandon(std::optional<std::uint32_t> lost) {
  abandoned_ = true;
  lost_ = lost;
  running_ = false;
  for (PeerId id = 0; id < peers_.size(); ++id) {
    peers_[id] = Peer{};
    asides_[id] = Aside{};
    if (many_paths()) paths_[id].abandon();
  }
  rounds_ = &kNoRounds;
  send_sizes_ = BlockSizes{};
  recv_sizes_ = BlockSizes{};
  turn_.clear();
  arrivals_.clear();
  ack_queue_.clear();
  resend_queue_.clear();
  probe_queue_.clear();
  copies_.clear();
  elsewhere_queue_.clear();
  const bool tells = lost_ || mismatch_;
  for (PeerId id = 0; tells && id < peers_.size(); ++id) {
    if (id != self_) reply(id, entered_, 0);
  }
  unacked_ = tail_unacked_ = send_left_ = recv_left_ = owing_ = 0;
  resends_ = tail_resends_ = 0;
  next_timer_ = next_step_at_ = base::kNever;
}

bool Engine::settled() const {
  return !running_ && unacked_ == 0 && owing_ == 0 && ack_queue_.empty();
}

std::uint64_t Engine::expand(std::uint16_t low) const {
  constexpr std::uint64_t kSpace = 65536;
  const std::uint64_t near = (entered_ & ~(kSpace - 1)) | low;
  if (near > entered_ + kSpace / 2 && near >= kSpace) return near - kSpace;
  if (near + kSpace / 2 < entered_) return near + kSpace;
  return near;
}

Engine::Range Engine::unacknowledged(PeerId peer) const {
  return {peers_[peer].send.acked, peers_[peer].send.next};
}

}  // namespace alm::transport

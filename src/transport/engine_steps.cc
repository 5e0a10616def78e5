// Uneven blocks in the steps of a schedule made for them (plan/uneven.h). In a step a rank sends
// one packet or none, and every port is loaded evenly, if the ranks keep to the steps.
//
// Where all steps are used, the link itself and the receive clock see to that: what has come shows
// how far the others are (000 Alg 2). Here a rank that idles would run ahead. A packet of step s is
// sent at once where others are known to be beyond s; else not before its time, which is counted in
// packet times from what this rank sent last, less a short lead; and not far beyond what has come
// or has been acknowledged, unless nothing is outstanding. As all keep to the time, queues stay
// short even then: that bound is for a network that is slower than it is said to be. What is lost
// takes time from what follows.
//
// A train whose block is withheld is passed over as soon as a later one can be sent. Once the block
// is there, the train takes the steps this rank would idle in, or else a step each from what
// follows; what is left when the trains end goes in rounds.
#include <algorithm>

#include "transport/engine.h"

namespace alm::transport {
namespace {

// Timers are late; so much of it is made good at once.
constexpr base::Nanos kTimerSlack = 50 * base::kMicrosecond;
// Steps beyond what is known to have come, in windows and at least.
constexpr std::uint64_t kAheadWindows = 4;
constexpr std::uint64_t kAheadMin = 128;

}  // namespace

void Engine::start_steps(base::Nanos now) {
  train_ = arrival_ = delivered_ = 0;
  train_sent_ = arrival_taken_ = delivered_taken_ = 0;
  delivered_packets_ = 0;
  arrival_clock_ = delivery_clock_ = 0;
  last_step_ = 0;
  passed_.clear();
  late_.clear();
  passed_delivered_ = 0;
  late_sent_ = 0;
  late_packets_sent_ = 0;
  all_withheld_ = false;
  anchor_at_ = last_arrival_at_ = now;
  next_step_at_ = base::kNever;
  send_total_ = send_left_;
  if (rounds_->steps == 0) return;
  const std::uint64_t packets = std::max<std::uint64_t>(1, std::max(send_left_, recv_left_));
  nominal_total_ = nominal_total_ / static_cast<base::Nanos>(packets) *
                   static_cast<base::Nanos>(std::max(rounds_->steps, packets));
  cycles_ = std::max<std::uint64_t>(1, rounds_->steps / cycle_packets_);
  skip_exhausted();
}

// A train may be for a block that is shorter than was thought when the steps were made.
void Engine::skip_exhausted() {
  while (stepping() && (train_sent_ == rounds_->trains[train_].packets ||
                        peers_[rounds_->trains[train_].peer].send.exhausted())) {
    ++train_;
    train_sent_ = 0;
  }
}

// Goes on to the first train whose block is there. False: there is none.
bool Engine::pass_over_withheld() {
  if (all_withheld_) return false;
  std::size_t ready = train_;
  while (ready < rounds_->trains.size()) {
    const Peer& peer = peers_[rounds_->trains[ready].peer];
    if (!peer.withheld && !peer.send.exhausted()) break;
    ++ready;
  }
  all_withheld_ = ready == rounds_->trains.size();
  if (all_withheld_) return false;
  for (; train_ < ready; ++train_) passed_.push_back(train_);
  return true;
}

void Engine::make_ready_in_steps(PeerId id) {
  all_withheld_ = false;
  for (const std::size_t train : passed_) {
    if (rounds_->trains[train].peer == id) late_.push_back(train);
  }
}

// One packet of a train that was passed over, in a step this rank would idle in, or else in that of
// the train that is next.
bool Engine::emit_late(base::Nanos now, Emission* out) {
  while (!late_.empty() && (late_sent_ == rounds_->trains[late_.front()].packets ||
                            peers_[rounds_->trains[late_.front()].peer].send.exhausted())) {
    late_.pop_front();
    late_sent_ = 0;
  }
  if (late_.empty()) return false;
  const PeerId id = rounds_->trains[late_.front()].peer;
  const std::uint64_t following = rounds_->trains[train_].step + train_sent_;
  const base::Nanos passed = std::max<base::Nanos>(0, now - anchor_at_);
  const auto by_time = static_cast<std::uint64_t>(passed / config_.packet_time);
  const std::uint64_t step = std::min(following, std::max(last_step_ + 1, by_time));
  if (!peers_[id].send.may_advance(config_.span_packets) || !step_allowed(now, step)) return false;
  fill_step(now, out, id, step);
  ++late_sent_;
  ++late_packets_sent_;
  if (step == following) anchor_at_ += config_.packet_time;
  last_step_ = step;
  count_sent(now, *out);
  return true;
}

void Engine::fill_step(base::Nanos now, Emission* out, PeerId id, std::uint64_t step) {
  Peer& peer = peers_[id];
  fill_data(out, id, peer.send, peer.send.next, current(), false);
  choose_path(now, out);
  ++peer.send.next;
  // If nothing arrives that lets this rank send on, acknowledgements must.
  if (step >= arrival_clock_ + ahead_max() / 2 || ends_unanswered(peer)) {
    out->header.flags |= wire::kFlagAckSoon;
  }
}

bool Engine::emit_step(base::Nanos now, Emission* out) {
  next_step_at_ = base::kNever;
  if (emit_late(now, out)) {
    skip_exhausted();
    return true;
  }
  if (peers_[rounds_->trains[train_].peer].withheld && !pass_over_withheld()) return false;
  const Train& train = rounds_->trains[train_];
  const std::uint64_t step = train.step + train_sent_;
  Peer& peer = peers_[train.peer];
  if (!peer.send.may_advance(config_.span_packets) || !step_allowed(now, step)) return false;
  fill_step(now, out, train.peer, step);
  ++train_sent_;
  if (step / cycle_packets_ != last_step_ / cycle_packets_) measure_cycle(now);
  last_step_ = step;
  const base::Nanos late = now - time_of(step) - lead() / 2 - kTimerSlack;
  if (late > 0) anchor_at_ += late;
  count_sent(now, *out);
  skip_exhausted();
  return true;
}

base::Nanos Engine::time_of(std::uint64_t step) const {
  return anchor_at_ + static_cast<base::Nanos>(step) * config_.packet_time;
}

base::Nanos Engine::lead() const {
  const std::uint32_t packets = config_.pace > 0 ? config_.pace_burst_packets : window_;
  return static_cast<base::Nanos>(packets) * config_.packet_time / 2;
}

// What far peers know of each other is as old as the route between them is long.
std::uint64_t Engine::ahead_max() const {
  const auto on_the_way = static_cast<std::uint64_t>(config_.round_trip / config_.packet_time);
  return std::max(kAheadMin, kAheadWindows * std::uint64_t{window_}) + on_the_way;
}

// When something is to come, as far as this rank knows the time.
base::Nanos Engine::next_arrival_at() const {
  if (arrival_ >= rounds_->arrivals.size()) return last_arrival_at_;
  return std::max(last_arrival_at_, time_of(rounds_->arrivals[arrival_].step + arrival_taken_));
}

void Engine::resent_in_steps() {
  if (!stepping()) return;
  anchor_at_ += static_cast<base::Nanos>(rounds_->steps / send_total_) * config_.packet_time;
}

bool Engine::step_allowed(base::Nanos now, std::uint64_t step) {
  if (step < arrival_clock_) return true;
  const base::Nanos at = time_of(step) - lead();
  if (now < at && !hurries_) {
    next_step_at_ = std::min(next_step_at_, at);
    return false;
  }
  if (step < arrival_clock_ + ahead_max() || unacked_ == tail_unacked_) return true;
  count_deliveries();
  return step < delivery_clock_ + ahead_max();
}

// Packets are acknowledged about in the order they were sent in.
void Engine::count_deliveries() {
  const std::uint64_t sent = send_total_ - send_left_;
  const std::uint64_t acknowledged = sent - (unacked_ - tail_unacked_);
  const std::uint64_t delivered = acknowledged - std::min(acknowledged, late_packets_sent_);
  while (delivered_packets_ < delivered && delivered_ < rounds_->trains.size()) {
    if (passed_delivered_ < passed_.size() && passed_[passed_delivered_] == delivered_) {
      ++passed_delivered_;
      ++delivered_;
      continue;
    }
    const Train& train = rounds_->trains[delivered_];
    const auto more = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(train.packets - delivered_taken_, delivered - delivered_packets_));
    delivered_taken_ += more;
    delivered_packets_ += more;
    delivery_clock_ = train.step + delivered_taken_;
    if (delivered_taken_ < train.packets) return;
    ++delivered_;
    delivered_taken_ = 0;
  }
}

void Engine::count_arrival() {
  if (arrival_ == rounds_->arrivals.size()) return;
  const Train& arrival = rounds_->arrivals[arrival_];
  arrival_clock_ = arrival.step + ++arrival_taken_;
  if (arrival_taken_ < arrival.packets) return;
  ++arrival_;
  arrival_taken_ = 0;
}

}  // namespace alm::transport

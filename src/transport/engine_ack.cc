// Acknowledgements, loss evidence, resends and probes.
#include <algorithm>
#include <bit>
#include <cassert>

#include "transport/engine.h"

namespace alm::transport {
namespace {

// 1 / kResendPart of the window may be resends. With four at once, as short queues want it, a
// thousand losses on a long route took sixty round trips (docs/adr/0056).
constexpr std::uint32_t kResendPart = 4;

}  // namespace

SendWindow* Engine::window_of(PeerId id, std::uint64_t exchange) {
  if (running_ && exchange == current()) return &peers_[id].send;
  if (has_tail() && exchange == tail_exchange()) return &asides_[id].tail;
  return nullptr;
}

void Engine::implied_ack(base::Nanos now, PeerId id, std::uint64_t exchange) {
  if (tail_unacked_ > 0 && tail_exchange() < exchange) {
    apply_ack(now, id, tail_exchange(), wire::kAcknowledgedAll, nullptr);
  }
  if (running_ && current() < exchange) {
    apply_ack(now, id, current(), wire::kAcknowledgedAll, nullptr);
  }
}

void Engine::apply_ack(base::Nanos now, PeerId id, std::uint64_t exchange, std::uint32_t cumulative,
                       const wire::AckBody* body) {
  SendWindow* window = window_of(id, exchange);
  if (window == nullptr) return;
  if (cumulative == wire::kAcknowledgedAll && window->exhausted()) cumulative = window->total;
  if (cumulative == wire::kAcknowledgedAll && exchange == current() && !window->exhausted()) {
    // It has come to the end without all that this rank sends.
    dispute(id, exchange);
    return;
  }
  if (cumulative > window->next) {
    ++counters_.rejected_malformed;
    return;
  }
  const bool tail = window == &asides_[id].tail;
  const std::uint32_t unacked_before = window->outstanding();
  const std::uint32_t resends_before = resends_outstanding(id, *window, tail);
  if (unacked_before == 0) {
    if (many_paths()) settle_paths(now, id, tail, body);
    return;
  }

  if (!tail && !many_paths() && config_.pace == 0) measure_answer(now, id, cumulative, body);
  if (cumulative > window->acked) window->advance_acked(cumulative);
  if (body != nullptr) merge_ack(*window, id, tail, cumulative, *body);
  if (many_paths()) settle_paths(now, id, tail, body);

  const std::uint32_t newly = unacked_before - window->outstanding();
  unacked_ -= newly;
  if (tail) tail_unacked_ -= newly;
  std::uint32_t& resends = tail ? tail_resends_ : resends_;
  resends += resends_outstanding(id, *window, tail);
  resends -= resends_before;
  if (newly > 0) {
    peers_[id].quiet_since = now;
    peers_[id].backoff = 0;
  }
  if (next_resend(id, *window, tail) == window->next) return;
  // It answers, and there is something to resend, perhaps not within the budget yet: no reason to
  // ask ever more slowly.
  peers_[id].backoff = 0;
  if (peers_[id].resend_queued) return;
  peers_[id].resend_queued = true;
  resend_queue_.push_back(id);
}

// Measures the round trip by an acknowledgement of the running exchange. One that shows a gap, or
// answers a probe, left at once; others may have been held back.
void Engine::measure_answer(base::Nanos now, PeerId id, std::uint32_t cumulative,
                            const wire::AckBody* body) {
  constexpr std::uint32_t kOneIn = 4;  // looking up when a packet was sent takes time
  const Peer& peer = peers_[id];
  const SendWindow& window = peer.send;
  if (body != nullptr && body->echo != 0) {
    // Only the first of several probes is timed: if answers took longer than estimated, timing
    // later probes would measure only the quick ones.
    Aside& aside = asides_[id];
    if (aside.asked != 0 && body->echo == aside.asked) answered(now, id, now - aside.asked_at);
    const bool later = peer.probe_number - body->echo <= peer.probe_number - aside.asked;
    if (later) aside.asked = 0;
    return;
  }
  const bool gap = body != nullptr && body->seen > cumulative && body->seen <= window.next;
  const std::uint32_t come = gap ? body->seen : cumulative;
  if (come <= std::max(window.acked, window.epoch_next)) return;  // known, or sent again
  if (!gap && answers_.known() && ++answer_turn_ % kOneIn != 0) return;
  const auto sent = sends_.sent_at(id, come - 1);
  if (!sent) return;
  if (gap) return answered(now, id, now - *sent);
  answers_.carried(now - *sent);
  timer_at(now + least_delay());
}

// The peer answered at once.
void Engine::answered(base::Nanos now, PeerId id, base::Nanos took) {
  constexpr base::Nanos kPart = 4;
  base::Nanos& known = asides_[id].answered_in;
  known = known == 0 ? took : known + (took - known) / kPart;
  answers_.at_once(took);
  timer_at(now + least_delay());
}

// Whether `echo` answers the latest probe, or an earlier one since which nothing was sent, which
// says as much. If both ends ask, the next probe may always leave before the answer to the last
// comes.
bool Engine::answers_probe(PeerId id, bool tail, std::uint32_t echo) const {
  const Peer& peer = peers_[id];
  const std::uint32_t before = peer.probe_number - asides_[id].probed_since;
  return echo != 0 && peer.probe_of_tail == tail && peer.probe_number - echo <= before;
}

void Engine::merge_ack(SendWindow& window, PeerId id, bool tail, std::uint32_t cumulative,
                       const wire::AckBody& body) {
  const Peer& peer = peers_[id];
  if (window.acked - cumulative < kSpanMax) {  // otherwise older than anything of interest
    for (std::uint32_t word = 0; word < wire::kBitmapWords; ++word) {
      for (std::uint64_t bits = body.bitmap[word]; bits != 0; bits &= bits - 1) {
        const std::uint32_t packet = cumulative + body.begin + word * 64 +
                                     static_cast<std::uint32_t>(std::countr_zero(bits));
        if (packet >= window.acked && packet < window.next) {
          window.sacked.set(packet - window.acked);
        }
      }
    }
    window.advance_acked(window.acked);
  }
  // Packets beyond the bitmaps received so far may have come. Bitmaps come in order.
  const std::uint32_t begin = cumulative + body.begin;
  const std::uint32_t end = begin + wire::kBitmapBits;
  const bool follows = begin <= std::max(window.told, cumulative);
  if (follows) window.told = std::max(window.told, std::min(end, body.seen));
  const std::uint32_t told = follows && body.seen <= end ? window.next : window.told;
  std::uint32_t evidence = std::min(body.seen, window.next);
  bool new_epoch = evidence > window.epoch_next;
  if (answers_probe(id, tail, body.echo)) {
    evidence = std::max(evidence, std::min(peer.probe_next, window.next));
    new_epoch = new_epoch || !peer.resent_since_probe;
  }
  if (new_epoch) window.resend_cursor = window.acked;
  window.lost_limit = std::max(window.lost_limit, std::min(evidence, told));
}

// A control packet has no place in a block; the caller adds its body.
void Engine::fill_control(Emission* out, PeerId id, wire::Type type, std::uint64_t exchange) {
  out->header = wire::Header{};
  if (many_paths()) out->header.path = paths_[id].path_of_answer();
  out->header.type = type;
  out->header.exchange = static_cast<std::uint16_t>(exchange);
  out->peer = id;
  out->body = Emission::Body::kControl;
  out->exchange = exchange;
  out->offset = 0;
  out->length = 0;
}

bool Engine::emit_ack(Emission* out) {
  if (ack_queue_.empty()) return false;
  const PeerId id = ack_queue_.front();
  ack_queue_.pop_front();
  Peer& peer = peers_[id];
  Aside& aside = asides_[id];
  peer.ack_queued = false;
  const std::uint64_t exchange = aside.reply_exchange;
  const std::uint32_t echo = peer.echo;
  peer.echo = 0;

  fill_control(out, id, wire::Type::kAck, exchange);
  wire::AckBody body;
  if (exchange < done_below()) {
    out->header.acknowledged = wire::kAcknowledgedAll;
    body.echo = echo;
  } else if (running_ && exchange == current()) {
    out->header.acknowledged = peer.recv.cumulative;
    // If one bitmap does not cover all that has come, acks send several in turn.
    const std::uint32_t open = peer.recv.seen - peer.recv.cumulative;
    const std::uint32_t parts = (open + wire::kBitmapBits - 1) / wire::kBitmapBits;
    const std::uint32_t part = parts > 1 ? aside.bitmap_turn++ % parts : 0;
    out->header.packet = part * wire::kBitmapBits;
    body = {echo, peer.recv.seen, peer.recv.beyond.map(out->header.packet)};
  } else if (exchange == entered_) {
    // What is held, but no evidence of loss: nobody waits for the rest yet, and what was refused
    // for want of room would be refused again.
    out->header.acknowledged = aside.early.cumulative;
    body.bitmap = aside.early.beyond.map();
  }
  out->control_bytes = static_cast<std::uint8_t>(wire::encode_ack(body, out->control));
  if (peer.owed_exchange <= exchange) paid(id);
  ++counters_.acks_sent;
  return true;
}

// Go-back-N, for study, resends all that follows a loss: with a larger budget that would be lost
// again.
std::uint32_t Engine::resend_budget() const {
  const bool selective = config_.reliability == Reliability::kSelectiveRepeat;
  return std::max(config_.retransmit_budget_packets, selective ? window_ / kResendPart : 0);
}

bool Engine::emit_resend(base::Nanos now, Emission* out) {
  if (config_.pace > 0 && !stepping()) {
    next_step_at_ = base::kNever;
    if (!(resend_queue_.empty() && copies_.empty()) && !due(now)) return false;
  }
  for (std::size_t looks = resend_queue_.size(); looks > 0; --looks) {
    const PeerId id = resend_queue_.front();
    resend_queue_.pop_front();
    Peer& peer = peers_[id];
    SendWindow& behind = asides_[id].tail;
    const bool tail = next_resend(id, behind, true) < behind.next;
    SendWindow& window = tail ? behind : peer.send;
    const std::uint32_t packet = next_resend(id, window, tail);
    if (packet >= window.next) {
      peer.resend_queued = false;
      continue;
    }
    resend_queue_.push_back(id);
    std::uint32_t& resends = tail ? tail_resends_ : resends_;
    if (resends >= resend_budget()) continue;
    fill_data(out, id, window, packet, tail ? tail_exchange() : current(), tail);
    out->header.flags |= wire::kFlagAckSoon;
    resends -= resends_outstanding(id, window, tail);
    const bool of_silent_path = many_paths() && choose_path_again(now, out, tail);
    window.resend_cursor = packet + 1;
    window.epoch_next = window.next;
    resends += resends_outstanding(id, window, tail);
    peer.resent_since_probe = true;
    lossy_ = true;
    if (!tail) resent_in_steps();
    peer.quiet_since = now;
    timer_at(now + least_delay());
    ++counters_.data_retransmitted;
    if (config_.pace > 0 && !stepping()) {
      ++pace_lost_;
      paced(now, out->length, packet > 0);
    }
    if (!of_silent_path) note_loss(now);
    if (sends_copies()) copies_.push_back({id, out->exchange, packet});
    return true;
  }
  return emit_copy(now, out);
}

// If the pace has slowed down, the link is full, and copies would fill it further.
bool Engine::sends_copies() const {
  return config_.pace > 0 && pace_ == config_.pace && !stepping() && !many_paths();
}

bool Engine::emit_copy(base::Nanos now, Emission* out) {
  while (!copies_.empty()) {
    const Copy copy = copies_.front();
    copies_.pop_front();
    const SendWindow* window = window_of(copy.peer, copy.exchange);
    if (window == nullptr || !sends_copies()) continue;
    const bool tail = window == &asides_[copy.peer].tail;
    if (!copy.packet) {
      if (window->outstanding() == 0 || peers_[copy.peer].probe_of_tail != tail) continue;
      fill_probe(now, out, copy.peer, tail);
      ++counters_.probes_sent;
      return true;
    }
    const std::uint32_t packet = *copy.packet;
    if (window->has_come(packet)) continue;
    fill_data(out, copy.peer, *window, packet, copy.exchange, tail);
    out->header.flags |= wire::kFlagAckSoon;
    ++counters_.data_retransmitted;
    paced(now, out->length, packet > 0);
    return true;
  }
  return false;
}

// In steps the clock keeps queues short, so losses do not cut the window.
void Engine::note_loss(base::Nanos now) {
  if (!config_.yields || rounds_->steps > 0) return;
  measure_spacing(now);
  // Losses that the exchange causes by itself need a shorter queue, but no idle link.
  if (!yield_.lost(crowd_.crowded() ? 1 : busy_window() + busy_window() / 2)) return;
  window_ = yield_.window();
  ++counters_.window_cuts;
  const std::uint64_t least = counters_.window_least;
  counters_.window_least = least == 0 ? window_ : std::min<std::uint64_t>(least, window_);
}

// The window that keeps the links busy without a queue.
std::uint32_t Engine::busy_window() const {
  const base::Nanos packets = (config_.latency + config_.limit_time - 1) / config_.limit_time;
  return static_cast<std::uint32_t>(std::clamp<base::Nanos>(packets, 1, yield_.full()));
}

void Engine::queue_probe(PeerId id) {
  if (peers_[id].probe_queued) return;
  peers_[id].probe_queued = true;
  probe_queue_.push_back(id);
}

// A probe takes the place of a packet in a queue. So probes to all peers at the end leave no closer
// together than packets. A rank that has more to send, but may not, asks at once: it waits for the
// answers.
bool Engine::emit_probe(base::Nanos now, Emission* out) {
  if (config_.pace == 0 && send_left_ == 0 && now < next_probe_at_) return false;
  while (!probe_queue_.empty()) {
    const PeerId id = probe_queue_.front();
    probe_queue_.pop_front();
    Peer& peer = peers_[id];
    peer.probe_queued = false;
    const SendWindow& behind = asides_[id].tail;
    const bool tail = behind.outstanding() > 0 || (has_tail() && disputed(id, tail_exchange()));
    if (!tail && !running_) continue;                                 // answered meanwhile
    if (tail && behind.outstanding() == 0) asides_[id].disputed = 0;  // asked
    const std::uint64_t exchange = tail ? tail_exchange() : current();
    const SendWindow& window = tail ? behind : peer.send;

    const bool same_question =
        peer.probe_next == window.next && peer.probe_of_tail == tail && !peer.resent_since_probe;
    if (++peer.probe_number == 0) peer.probe_number = 1;  // 0 means no probe
    if (!same_question) asides_[id].probed_since = peer.probe_number;
    peer.probe_next = window.next;
    peer.probe_of_tail = tail;
    peer.resent_since_probe = false;
    Aside& aside = asides_[id];
    if (aside.asked == 0) {
      aside.asked = peer.probe_number;
      aside.asked_at = now;
    }
    peer.quiet_since = now;
    peer.wait_since = now;
    if (peer.backoff < kBackoffMax) ++peer.backoff;

    fill_probe(now, out, id, tail);
    ++counters_.probes_sent;
    next_probe_at_ = now + std::max(frame_time_, config_.limit_time);
    if (sends_copies()) copies_.push_back({id, exchange, std::nullopt});
    return true;
  }
  return false;
}

// Fills in the latest probe to this peer.
void Engine::fill_probe(base::Nanos now, Emission* out, PeerId id, bool tail) {
  const std::uint64_t exchange = tail ? tail_exchange() : current();
  fill_control(out, id, wire::Type::kProbe, exchange);
  if (many_paths()) choose_path_of_probe(now, out, tail);
  out->header.acknowledged = tail ? wire::kAcknowledgedAll : peers_[id].recv.cumulative;
  wire::ProbeBody body = sizes_with(id, exchange).value_or(wire::ProbeBody{});
  body.number = peers_[id].probe_number;
  out->control_bytes = static_cast<std::uint8_t>(wire::encode_probe(body, out->control));
}

bool Engine::emit_notice(Emission* out) {
  if (ack_queue_.empty()) return false;
  const PeerId id = ack_queue_.front();
  ack_queue_.pop_front();
  peers_[id].ack_queued = false;
  const auto type = mismatch_ ? wire::Type::kMismatch : wire::Type::kLost;
  fill_control(out, id, type, asides_[id].reply_exchange);
  std::size_t bytes = 0;
  if (mismatch_) {
    bytes = wire::encode_mismatch(
        {mismatch_->from, mismatch_->to, mismatch_->sent, mismatch_->expected}, out->control);
  } else {
    bytes = wire::encode_number(*lost_, out->control);
  }
  out->control_bytes = static_cast<std::uint8_t>(bytes);
  return true;
}

bool Engine::emit_elsewhere(Emission* out) {
  if (elsewhere_queue_.empty()) return false;
  const PeerId id = elsewhere_queue_.front();
  elsewhere_queue_.pop_front();
  if (running_ || !elsewhere_) return false;
  fill_control(out, id, wire::Type::kElsewhere, entered_);
  out->control_bytes = static_cast<std::uint8_t>(wire::encode_elsewhere(*elsewhere_, out->control));
  return true;
}

}  // namespace alm::transport

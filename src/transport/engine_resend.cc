// What is sent again.
#include <algorithm>

#include "transport/engine_parts.h"

namespace alm::transport {
namespace {

// 1 / kResendPart of the window may be resends. With four at once, as short queues want it, a
// thousand losses on a long route took sixty round trips (docs/adr/0056).
constexpr std::uint32_t kResendPart = 4;

}  // namespace

std::uint32_t EngineSending::resends_outstanding(PeerId id, const SendWindow& window,
                                                 bool tail) const {
  return paths_.any() ? paths_.of(id).flights(tail).resends() : window.resends_outstanding();
}

std::uint32_t EngineSending::next_resend(PeerId id, const SendWindow& window, bool tail) const {
  if (!paths_.any()) return window.next_resend();
  const paths::Flights::Flight* lost = paths_.of(id).flights(tail).first_lost();
  return lost == nullptr ? window.next : lost->packet;
}

// Go-back-N, for study, resends all that follows a loss: with a larger budget that would be lost
// again.
std::uint32_t EngineSending::resend_budget() const {
  const bool selective = config_.reliability == Reliability::kSelectiveRepeat;
  return std::max(config_.retransmit_budget_packets,
                  selective ? congestion_.window() / kResendPart : 0);
}

bool EngineSending::emit_resend(base::Nanos now, Emission* out) {
  if (pace_.rules() && !trains_.any()) {
    next_step_at_ = base::kNever;
    if (!(resend_queue_.empty() && copies_.empty()) && !due(now)) return false;
  }
  for (std::size_t looks = resend_queue_.size(); looks > 0; --looks) {
    const PeerId id = resend_queue_.take();
    const SendWindow& behind = asides_[id].tail;
    const bool tail = next_resend(id, behind, true) < behind.next;
    const SendWindow& window = tail ? behind : peers_[id].send;
    const std::uint32_t packet = next_resend(id, window, tail);
    if (packet >= window.next) {
      peers_[id].resend_queued = false;
      continue;
    }
    resend_queue_.push_back(id);
    if ((tail ? tail_resends_ : resends_) >= resend_budget()) continue;
    fill_resend(now, out, id, packet, tail);
    if (sends_copies()) copies_.push_back({id, out->exchange, packet});
    return true;
  }
  return emit_copy(now, out);
}

void EngineSending::fill_resend(base::Nanos now, Emission* out, PeerId id, std::uint32_t packet,
                                bool tail) {
  Peer& peer = peers_[id];
  SendWindow& window = tail ? asides_[id].tail : peer.send;
  std::uint32_t& resends = tail ? tail_resends_ : resends_;
  fill_data(out, id, window, packet, tail ? numbers_.tail() : numbers_.current(), tail);
  out->header.flags |= wire::kFlagAckSoon;
  resends -= resends_outstanding(id, window, tail);
  bool of_silent_path = false;
  if (paths_.any()) {
    out->header.path = paths_.take_again(now, id, tail, packet, &of_silent_path);
    ++counters_.path_loads[out->header.path];
  }
  window.resend_cursor = packet + 1;
  window.epoch_next = window.next;
  resends += resends_outstanding(id, window, tail);
  peer.resent_since_probe = true;
  congestion_.saw_loss();
  if (!tail && trains_.any()) steps_.resent();
  peer.quiet_since = now;
  timer_at(now + look_delay());
  ++counters_.data_retransmitted;
  if (pace_.rules() && !trains_.any()) {
    pace_.lost();
    pace_.sent(now, out->length, window.total > 1);
  }
  // In steps the clock keeps queues short, so losses do not cut the window.
  if (of_silent_path || rounds_->steps > 0 || !congestion_.lost(now, send_left_ > 0)) return;
  ++counters_.window_cuts;
  if (congestion_.loses_alone()) ++counters_.cuts_alone;
  const std::uint64_t least = counters_.window_least;
  const std::uint64_t cut = congestion_.window();
  counters_.window_least = least == 0 ? cut : std::min(least, cut);
}

bool EngineSending::emit_copy(base::Nanos now, Emission* out) {
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
    if (window->has_come(*copy.packet)) continue;
    fill_data(out, copy.peer, *window, *copy.packet, copy.exchange, tail);
    out->header.flags |= wire::kFlagAckSoon;
    ++counters_.data_retransmitted;
    pace_.sent(now, out->length, window->total > 1);
    return true;
  }
  return false;
}

}  // namespace alm::transport

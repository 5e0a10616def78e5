// What is sent again.
#include <algorithm>

#include "transport/engine_parts.h"

namespace alm::transport::engine {
namespace {

// 1 / kResendPart of the window may be resends. With four at once, as short queues want it, a
// thousand losses on a long route took sixty round trips (docs/adr/0056).
constexpr std::uint32_t kResendPart = 4;

// Go-back-N, for study, resends all that follows a loss: more at once would be lost again.
std::uint32_t resend_budget(const Parts& e) {
  const bool selective = e.config.reliability == Reliability::kSelectiveRepeat;
  return std::max(e.config.retransmit_budget_packets,
                  selective ? e.congestion.window() / kResendPart : 0);
}

void fill_resend(Parts& e, base::Nanos now, Emission* out, PeerId id, std::uint32_t packet,
                 bool tail) {
  Peer& peer = e.peers[id];
  SendWindow& window = tail ? e.asides[id].tail : peer.send;
  std::uint32_t& resends = tail ? e.tail_resends : e.resends;
  fill_data(e, out, id, window, packet, tail ? e.numbers.tail() : e.numbers.current(), tail);
  out->header.flags |= wire::kFlagAckSoon;
  resends -= resends_outstanding(e, id, window, tail);
  bool of_silent_path = false;
  if (e.paths.any()) {
    out->header.path = e.paths.take_again(now, id, tail, packet, &of_silent_path);
    ++e.counters.path_loads[out->header.path];
  }
  window.resend_cursor = packet + 1;
  window.epoch_next = window.next;
  resends += resends_outstanding(e, id, window, tail);
  peer.resent_since_probe = true;
  e.congestion.saw_loss();
  if (!tail && e.trains.any()) e.steps.resent();
  peer.quiet_since = now;
  e.timer_at(now + e.look_delay());
  ++e.counters.data_retransmitted;
  if (e.pace.rules() && !e.trains.any()) {
    e.pace.lost();
    e.parities.lost(1);
    e.pace.sent(now, out->length, window.total > 1);
  }
  if (!of_silent_path && !tail && e.rounds->interleaved) {
    e.turns.set_lengths(e.congestion.shorten_trains(id, packet), e.config.span_packets);
  }
  // In steps the clock keeps queues short, so losses do not cut the window.
  if (of_silent_path || e.rounds->steps > 0 || !e.congestion.lost(now, e.send_left > 0)) return;
  ++e.counters.window_cuts;
  if (e.symmetric && e.congestion.loses_alone()) ++e.counters.cuts_alone;
  const std::uint64_t least = e.counters.window_least;
  const std::uint64_t cut = e.congestion.window();
  e.counters.window_least = least == 0 ? cut : std::min(least, cut);
}

bool emit_copy(Parts& e, base::Nanos now, Emission* out) {
  while (!e.copies.empty()) {
    const Parts::Copy copy = e.copies.front();
    e.copies.pop_front();
    const SendWindow* window = e.window_of(copy.peer, copy.exchange);
    if (window == nullptr || !sends_copies(e)) continue;
    const bool tail = window == &e.asides[copy.peer].tail;
    if (!copy.packet) {
      if (window->outstanding() == 0 || e.peers[copy.peer].probe_of_tail != tail) continue;
      fill_probe(e, now, out, copy.peer, tail);
      ++e.counters.probes_sent;
      return true;
    }
    if (window->has_come(*copy.packet)) continue;
    fill_data(e, out, copy.peer, *window, *copy.packet, copy.exchange, tail);
    out->header.flags |= wire::kFlagAckSoon;
    ++e.counters.data_retransmitted;
    e.pace.sent(now, out->length, window->total > 1);
    return true;
  }
  return false;
}

}  // namespace

std::uint32_t resends_outstanding(const Parts& e, PeerId id, const SendWindow& window, bool tail) {
  return e.paths.any() ? e.paths.of(id).flights(tail).resends() : window.resends_outstanding();
}

std::uint32_t next_resend(const Parts& e, PeerId id, const SendWindow& window, bool tail) {
  if (!e.paths.any()) return window.next_resend();
  const paths::Flights::Flight* lost = e.paths.of(id).flights(tail).first_lost();
  return lost == nullptr ? window.next : lost->packet;
}

bool emit_resend(Parts& e, base::Nanos now, Emission* out) {
  if (e.pace.rules() && !e.trains.any()) {
    e.next_step_at = base::kNever;
    if (!(e.resend_queue.empty() && e.copies.empty()) && !due(e, now)) return false;
  }
  for (std::size_t looks = e.resend_queue.size(); looks > 0; --looks) {
    const PeerId id = e.resend_queue.take();
    const SendWindow& behind = e.asides[id].tail;
    const bool tail = next_resend(e, id, behind, true) < behind.next;
    const SendWindow& window = tail ? behind : e.peers[id].send;
    const std::uint32_t packet = next_resend(e, id, window, tail);
    if (packet >= window.next) {
      e.peers[id].resend_queued = false;
      continue;
    }
    e.resend_queue.push_back(id);
    if ((tail ? e.tail_resends : e.resends) >= resend_budget(e)) continue;
    fill_resend(e, now, out, id, packet, tail);
    if (sends_copies(e)) e.copies.push_back({id, out->exchange, packet});
    return true;
  }
  return emit_copy(e, now, out);
}

}  // namespace alm::transport::engine

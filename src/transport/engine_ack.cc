// Acknowledgements of what this rank has sent.
#include <algorithm>

#include "transport/engine_parts.h"

namespace alm::transport::engine {
namespace {

// Measures the round trip by an acknowledgement of the running exchange. One that shows a gap, or
// answers a probe, left at once; others may have been held back.
void measure_answer(Parts& e, base::Nanos now, PeerId id, std::uint32_t cumulative,
                    const wire::AckBody* body) {
  constexpr std::uint32_t kOneIn = 4;  // looking up when a packet was sent takes time
  constexpr base::Nanos kPart = 4;
  const SendWindow& window = e.peers[id].send;
  Aside& aside = e.asides[id];
  const bool echoes = body != nullptr && body->echo != 0;
  const bool gap = body != nullptr && body->seen > cumulative && body->seen <= window.next;
  std::optional<base::Nanos> took;
  if (echoes) {
    took = Probes::took(now, e.peers[id], &aside, body->echo);
    if (took) e.trips.answered(id);
  } else {
    const std::uint32_t come = gap ? body->seen : cumulative;
    if (come <= std::max(window.acked, window.epoch_next)) return;  // known, or sent again
    if (!gap && e.delays.answers().known() && ++e.answer_turn % kOneIn != 0) return;
    const auto sent = e.congestion.sends().sent_at(id, come - 1);
    if (sent) took = now - *sent;
  }
  if (!took) return;
  e.trips.carried(id, *took);
  if (echoes || gap) {
    base::Nanos& known = aside.answered_in;
    known = known == 0 ? *took : known + (*took - known) / kPart;
    e.delays.answers().at_once(*took);
    e.congestion.answered(*took);
  } else {
    e.delays.answers().carried(*took);
  }
  e.timer_at(now + e.look_delay());
}

void settle_paths(Parts& e, base::Nanos now, PeerId id, bool tail, const wire::AckBody* body) {
  e.paths.settle(now, id, tail, tail ? e.asides[id].tail : e.peers[id].send, body);
  // The latest probe alone: those before took other paths.
  const bool answers = body != nullptr && body->echo != 0 && body->echo == e.peers[id].probe_number;
  if (!answers) return;
  e.counters.path_silences +=
      e.paths.answered(now, id, tail, e.delays.probe_least(e.congestion.yielding()));
}

}  // namespace

void implied_ack(Parts& e, base::Nanos now, PeerId id, std::uint64_t exchange) {
  if (e.tail_unacked > 0 && e.numbers.tail() < exchange) {
    apply_ack(e, now, id, e.numbers.tail(), wire::kAcknowledgedAll, nullptr);
  }
  if (e.numbers.running() && e.numbers.current() < exchange) {
    apply_ack(e, now, id, e.numbers.current(), wire::kAcknowledgedAll, nullptr);
  }
}

void apply_ack(Parts& e, base::Nanos now, PeerId id, std::uint64_t exchange,
               std::uint32_t cumulative, const wire::AckBody* body) {
  SendWindow* window = e.window_of(id, exchange);
  if (window == nullptr) return;
  if (cumulative == wire::kAcknowledgedAll && window->exhausted()) cumulative = window->total;
  if (cumulative == wire::kAcknowledgedAll && exchange == e.numbers.current() &&
      !window->exhausted()) {
    // It has come to the end without all that this rank sends.
    e.dispute(id, exchange);
    return;
  }
  if (cumulative > window->next) {
    ++e.counters.rejected_malformed;
    return;
  }
  const bool tail = window == &e.asides[id].tail;
  const std::uint32_t unacked_before = window->outstanding();
  const std::uint32_t resends_before = resends_outstanding(e, id, *window, tail);
  if (unacked_before == 0) {
    if (e.paths.any()) settle_paths(e, now, id, tail, body);
    return;
  }

  Peer& peer = e.peers[id];
  if (!tail && !e.paths.any() && !e.pace.rules()) measure_answer(e, now, id, cumulative, body);
  if (cumulative > window->acked) window->advance_acked(cumulative);
  if (body != nullptr) {
    const SendWindow::Probed probed{peer.probe_next, peer.resent_since_probe};
    const bool answers = Probes::answers(peer, e.asides[id], tail, body->echo);
    window->merge(cumulative, *body, answers ? &probed : nullptr);
  }
  if (e.paths.any()) settle_paths(e, now, id, tail, body);

  const std::uint32_t newly = unacked_before - window->outstanding();
  e.unacked -= newly;
  if (tail) e.tail_unacked -= newly;
  std::uint32_t& resends = tail ? e.tail_resends : e.resends;
  resends += resends_outstanding(e, id, *window, tail);
  resends -= resends_before;
  if (newly > 0) {
    peer.quiet_since = now;
    peer.backoff = 0;
  }
  if (next_resend(e, id, *window, tail) == window->next) return;
  // It answers, and there is something to resend, perhaps not within the budget yet: no reason to
  // ask ever more slowly.
  peer.backoff = 0;
  if (peer.resend_queued) return;
  peer.resend_queued = true;
  e.resend_queue.push_back(id);
}

}  // namespace alm::transport::engine

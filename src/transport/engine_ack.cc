// Acknowledgements of what this rank has sent.
#include <algorithm>

#include "transport/engine_parts.h"

namespace alm::transport {

void EngineReceiving::implied_ack(base::Nanos now, PeerId id, std::uint64_t exchange) {
  if (tail_unacked_ > 0 && numbers_.tail() < exchange) {
    apply_ack(now, id, numbers_.tail(), wire::kAcknowledgedAll, nullptr);
  }
  if (numbers_.running() && numbers_.current() < exchange) {
    apply_ack(now, id, numbers_.current(), wire::kAcknowledgedAll, nullptr);
  }
}

void EngineReceiving::apply_ack(base::Nanos now, PeerId id, std::uint64_t exchange,
                                std::uint32_t cumulative, const wire::AckBody* body) {
  SendWindow* window = window_of(id, exchange);
  if (window == nullptr) return;
  if (cumulative == wire::kAcknowledgedAll && window->exhausted()) cumulative = window->total;
  if (cumulative == wire::kAcknowledgedAll && exchange == numbers_.current() &&
      !window->exhausted()) {
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
    if (paths_.any()) settle_paths(now, id, tail, body);
    return;
  }

  Peer& peer = peers_[id];
  if (!tail && !paths_.any() && !pace_.rules()) measure_answer(now, id, cumulative, body);
  if (cumulative > window->acked) window->advance_acked(cumulative);
  if (body != nullptr) {
    const SendWindow::Probed probed{peer.probe_next, peer.resent_since_probe};
    const bool answers = Probes::answers(peer, asides_[id], tail, body->echo);
    window->merge(cumulative, *body, answers ? &probed : nullptr);
  }
  if (paths_.any()) settle_paths(now, id, tail, body);

  const std::uint32_t newly = unacked_before - window->outstanding();
  unacked_ -= newly;
  if (tail) tail_unacked_ -= newly;
  std::uint32_t& resends = tail ? tail_resends_ : resends_;
  resends += resends_outstanding(id, *window, tail);
  resends -= resends_before;
  if (newly > 0) {
    peer.quiet_since = now;
    peer.backoff = 0;
  }
  if (next_resend(id, *window, tail) == window->next) return;
  // It answers, and there is something to resend, perhaps not within the budget yet: no reason to
  // ask ever more slowly.
  peer.backoff = 0;
  if (peer.resend_queued) return;
  peer.resend_queued = true;
  resend_queue_.push_back(id);
}

// Measures the round trip by an acknowledgement of the running exchange. One that shows a gap, or
// answers a probe, left at once; others may have been held back.
void EngineReceiving::measure_answer(base::Nanos now, PeerId id, std::uint32_t cumulative,
                                     const wire::AckBody* body) {
  constexpr std::uint32_t kOneIn = 4;  // looking up when a packet was sent takes time
  constexpr base::Nanos kPart = 4;
  const SendWindow& window = peers_[id].send;
  Aside& aside = asides_[id];
  const bool echoes = body != nullptr && body->echo != 0;
  const bool gap = body != nullptr && body->seen > cumulative && body->seen <= window.next;
  std::optional<base::Nanos> took;
  if (echoes) {
    took = Probes::took(now, peers_[id], &aside, body->echo);
  } else {
    const std::uint32_t come = gap ? body->seen : cumulative;
    if (come <= std::max(window.acked, window.epoch_next)) return;  // known, or sent again
    if (!gap && delays_.answers().known() && ++answer_turn_ % kOneIn != 0) return;
    const auto sent = congestion_.sends().sent_at(id, come - 1);
    if (sent) took = now - *sent;
  }
  if (!took) return;
  if (echoes || gap) {
    base::Nanos& known = aside.answered_in;
    known = known == 0 ? *took : known + (*took - known) / kPart;
    delays_.answers().at_once(*took);
  } else {
    delays_.answers().carried(*took);
  }
  timer_at(now + look_delay());
}

void EngineReceiving::settle_paths(base::Nanos now, PeerId id, bool tail,
                                   const wire::AckBody* body) {
  paths_.settle(now, id, tail, tail ? asides_[id].tail : peers_[id].send, body);
  // The latest probe alone: those before took other paths.
  const bool answers = body != nullptr && body->echo != 0 && body->echo == peers_[id].probe_number;
  if (!answers) return;
  counters_.path_silences +=
      paths_.answered(now, id, tail, delays_.probe_least(congestion_.yielding()));
}

}  // namespace alm::transport

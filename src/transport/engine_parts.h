// The engine's parts (engine.h), each of which uses those before it: what all of them know, control
// packets, sending, receiving.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "base/rounds.h"
#include "base/time.h"
#include "clocks/receive_clock.h"
#include "clocks/step_clock.h"
#include "transport/attendance.h"
#include "transport/config.h"
#include "transport/congestion.h"
#include "transport/delays.h"
#include "transport/disputes.h"
#include "transport/emission.h"
#include "transport/many_paths.h"
#include "transport/owed_acks.h"
#include "transport/pace.h"
#include "transport/peer.h"
#include "transport/peer_queue.h"
#include "transport/probes.h"
#include "transport/round_turns.h"
#include "transport/silence.h"
#include "transport/sizes.h"
#include "transport/trains.h"
#include "wire/control.h"
#include "wire/exchange_numbers.h"
#include "wire/header.h"

namespace alm::transport {

// What all parts know, and what is said in one line.
class EngineState {
 protected:
  EngineState(const Config& config, PeerId self, std::uint32_t peers);

  // The block of the running exchange, or of the tail; null: of neither.
  SendWindow* window_of(PeerId id, std::uint64_t exchange) {
    if (numbers_.runs(exchange)) return &peers_[id].send;
    if (numbers_.is_tail(exchange)) return &asides_[id].tail;
    return nullptr;
  }
  bool owes_tail(PeerId id) const {
    return tail_unacked_ > 0 && asides_[id].tail.outstanding() > 0;
  }
  void reply(PeerId id, std::uint64_t exchange, std::uint32_t echo) {
    acks_.reply(id, &peers_[id], &asides_[id], exchange, echo);
  }
  void queue_probe(PeerId id) { probes_.queue(id, &peers_[id]); }
  // A peer's block is not as expected; the probe to it will show the sizes.
  void dispute(PeerId id, std::uint64_t exchange) {
    ++counters_.rejected_malformed;
    disputes_.dispute(id, exchange, numbers_.runs(exchange));
    queue_probe(id);
  }
  // Whether a block of the running exchange is in dispute.
  bool disputed(PeerId id) const {
    return disputes_.open() && disputes_.disputed(id, numbers_.current());
  }
  void timer_at(base::Nanos when) { next_timer_ = std::min(next_timer_, when); }
  base::Nanos look_delay() const {
    return delays_.look(peers_.size(), frame_time_, congestion_.yielding());
  }

  Config config_;
  PeerId self_;

  // ---- fields that every packet touches, side by side (expect_use()) ----
  std::vector<Peer> peers_;
  wire::ExchangeNumbers numbers_;
  Disputes disputes_;
  Silence silence_;
  const Rounds* rounds_;  // of the running exchange
  bool abandoned_ = false;
  bool reports_arrivals_ = false;
  RoundTurns turns_;
  std::uint64_t send_left_ = 0, recv_left_ = 0;  // packets, all rounds
  // Unacknowledged packets of running exchange and tail, and of the tail alone.
  std::uint64_t unacked_ = 0, tail_unacked_ = 0;
  // Outstanding retransmissions. The tail has a budget of its own: the running exchange may wait
  // for a peer that waits for this rank's tail.
  std::uint32_t resends_ = 0, tail_resends_ = 0;
  clocks::ReceiveClock clock_;
  Congestion congestion_;
  Pace pace_;
  std::uint64_t cycle_packets_ = 1;  // packets between two turns of a partner
  base::Nanos frame_time_ = 0;
  std::uint32_t answer_turn_ = 0;
  base::Nanos next_timer_ = base::kNever;
  base::Nanos next_step_at_ = base::kNever;
  Sizes sizes_;
  Trains trains_;
  clocks::StepClock steps_;
  Delays delays_;
  OwedAcks acks_;
  Probes probes_;
  PeerQueue arrivals_, resend_queue_;
  // A packet or the latest probe, to be sent a second time to a far peer.
  struct Copy {
    PeerId peer = 0;
    std::uint64_t exchange = 0;
    std::optional<std::uint32_t> packet;  // none: a probe
  };
  std::deque<Copy> copies_;
  Counters counters_;
  // ---- the rest ----

  std::vector<Aside> asides_;
  ManyPaths paths_;
  Attendance attendance_;
  std::optional<std::uint32_t> lost_;  // the lost rank that peers are told of
  std::uint64_t early_bytes_ = 0;
  base::Nanos released_ = 0;  // the latest exchange
  bool symmetric_ = false;    // every rank sends as much as it receives
};

// engine_control.cc: acknowledgements, probes, notices.
class EngineControl : protected EngineState {
 protected:
  using EngineState::EngineState;

  bool emit_ack(Emission* out);
  bool emit_notice(Emission* out);
  bool emit_elsewhere(Emission* out);
  bool emit_probe(base::Nanos now, Emission* out);
  void fill_probe(base::Nanos now, Emission* out, PeerId id, bool tail);
  bool ask_for_acks();
  bool sends_copies() const;

 private:
  void fill_control(Emission* out, PeerId id, wire::Type type, std::uint64_t exchange);
};

// What is sent.
class EngineSending : protected EngineControl {
 protected:
  using EngineControl::EngineControl;

  // engine_send.cc
  bool emit_data(base::Nanos now, Emission* out);
  // engine_resend.cc
  bool emit_resend(base::Nanos now, Emission* out);
  std::uint32_t resends_outstanding(PeerId id, const SendWindow& window, bool tail) const;
  std::uint32_t next_resend(PeerId id, const SendWindow& window, bool tail) const;

 private:
  bool may_send() const;
  bool due(base::Nanos now);
  void fill_data(Emission* out, PeerId id, const SendWindow& window, std::uint32_t packet,
                 std::uint64_t exchange, bool tail);
  void fill_next(base::Nanos now, Emission* out, PeerId id);
  void count_sent(base::Nanos now, const Emission& sent);
  bool ends_unanswered(const Peer& peer) const;
  bool emit_late(base::Nanos now, Emission* out);
  bool emit_step(base::Nanos now, Emission* out);
  bool step_allowed(base::Nanos now, std::uint64_t step);

  std::uint32_t resend_budget() const;
  void fill_resend(base::Nanos now, Emission* out, PeerId id, std::uint32_t packet, bool tail);
  bool emit_copy(base::Nanos now, Emission* out);
};

// What comes.
class EngineReceiving : protected EngineSending {
 protected:
  using EngineSending::EngineSending;

  // engine_receive.cc
  Verdict receive(base::Nanos now, const wire::Header& header, std::uint64_t exchange,
                  std::uint32_t length, std::span<const std::byte> body);
  bool accept_held(PeerId peer, std::uint32_t packet, std::uint32_t length);

 private:
  template <class Body, class Handler>
  void decoded(const std::optional<Body>& body, const Handler& handle);
  void on_ack(base::Nanos now, const wire::Header& header, std::uint64_t exchange,
              const wire::AckBody& ack);
  void on_probe(base::Nanos now, const wire::Header& header, std::uint64_t exchange,
                const wire::ProbeBody& probe);
  void on_mismatch(const wire::MismatchBody& told);
  Verdict on_data(base::Nanos now, const wire::Header& header, std::uint64_t exchange,
                  std::uint32_t length);
  std::uint32_t expected_length(PeerId id, std::uint32_t packet) const;
  bool accept(PeerId id, std::uint32_t packet, std::uint32_t length);
  void overtaken(PeerId id);
  Verdict hold_early(base::Nanos now, PeerId id, std::uint32_t packet, std::uint32_t length,
                     std::uint64_t exchange, bool ack_soon);
  void owe(base::Nanos now, PeerId id, std::uint64_t exchange);
  void reply_again(PeerId id, std::uint64_t exchange, std::uint32_t echo);
  bool answers_gap(PeerId id) { return !paths_.any() || paths_.of(id).answers_gap(); }
  bool asks_back(base::Nanos now, PeerId id) const;

  // engine_ack.cc
  void implied_ack(base::Nanos now, PeerId id, std::uint64_t exchange);
  void apply_ack(base::Nanos now, PeerId id, std::uint64_t exchange, std::uint32_t cumulative,
                 const wire::AckBody* body);
  void measure_answer(base::Nanos now, PeerId id, std::uint32_t cumulative,
                      const wire::AckBody* body);
  void settle_paths(base::Nanos now, PeerId id, bool tail, const wire::AckBody* body);
};

}  // namespace alm::transport

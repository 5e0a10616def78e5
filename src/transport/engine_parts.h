// The engine from inside (engine.h): what its parts know, and what they do for each other. Each
// part is a file of functions.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "base/peer_queue.h"
#include "base/rounds.h"
#include "base/time.h"
#include "blocks/parity_turns.h"
#include "blocks/sizes.h"
#include "clocks/peer_trips.h"
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
#include "transport/probes.h"
#include "transport/round_turns.h"
#include "transport/silence.h"
#include "transport/trains.h"
#include "wire/control.h"
#include "wire/exchange_numbers.h"
#include "wire/header.h"

namespace alm::transport::engine {

// What the parts of the engine know, and what is said in one line.
struct Parts {
  Parts(const Config& with, PeerId own, std::uint32_t count);

  // The block of the running exchange, or of the tail; null: of neither.
  SendWindow* window_of(PeerId id, std::uint64_t exchange) {
    if (numbers.runs(exchange)) return &peers[id].send;
    if (numbers.is_tail(exchange)) return &asides[id].tail;
    return nullptr;
  }
  bool owes_tail(PeerId id) const { return tail_unacked > 0 && asides[id].tail.outstanding() > 0; }
  void reply(PeerId id, std::uint64_t exchange, std::uint32_t echo) {
    acks.reply(id, &peers[id], &asides[id], exchange, echo);
  }
  void queue_probe(PeerId id) { probes.queue(id, &peers[id]); }
  // A peer's block is not as expected; the probe to it will show the sizes.
  void dispute(PeerId id, std::uint64_t exchange) {
    ++counters.rejected_malformed;
    disputes.dispute(id, exchange, numbers.runs(exchange));
    queue_probe(id);
  }
  // Whether a block of the running exchange is in dispute.
  bool disputed(PeerId id) const {
    return disputes.open() && disputes.disputed(id, numbers.current());
  }
  // What is lost decides how many parities blocks get. In steps and over several paths there are
  // none, and a gap need not be a loss.
  bool counts_losses() const { return config.parities && !trains.any() && !paths.any(); }
  clocks::SeenTrips seen_trips() const { return trips.seen(delays.answers().round_trip()); }
  void timer_at(base::Nanos when) { next_timer = std::min(next_timer, when); }
  base::Nanos look_delay() const {
    return delays.look(peers.size(), frame_time, congestion.yielding());
  }

  Config config;
  PeerId self;

  // ---- fields that every packet touches, side by side (expect_use()) ----
  std::vector<Peer> peers;
  wire::ExchangeNumbers numbers;
  Disputes disputes;
  Silence silence;
  const Rounds* rounds;  // of the running exchange
  bool abandoned = false;
  bool reports_arrivals = false;
  RoundTurns turns;
  std::uint64_t send_left = 0, recv_left = 0;  // packets, all rounds
  // Unacknowledged packets of running exchange and tail, and of the tail alone.
  std::uint64_t unacked = 0, tail_unacked = 0;
  // Outstanding retransmissions. The tail has a budget of its own: the running exchange may wait
  // for a peer that waits for this rank's tail.
  std::uint32_t resends = 0, tail_resends = 0;
  clocks::ReceiveClock clock;
  Congestion congestion;
  Pace pace;
  blocks::ParityTurns parities;
  std::uint64_t cycle_packets = 1;  // packets between two turns of a partner
  base::Nanos frame_time = 0;
  std::uint32_t answer_turn = 0;
  clocks::PeerTrips trips;
  base::Nanos next_timer = base::kNever;
  base::Nanos next_step_at = base::kNever;
  Sizes sizes;
  Trains trains;
  clocks::StepClock steps;
  Delays delays;
  OwedAcks acks;
  Probes probes;
  base::PeerQueue arrivals, resend_queue;
  // A packet or the latest probe, to be sent a second time to a far peer.
  struct Copy {
    PeerId peer = 0;
    std::uint64_t exchange = 0;
    std::optional<std::uint32_t> packet;  // none: a probe
  };
  std::deque<Copy> copies;
  Counters counters;
  // ---- the rest ----

  std::vector<Aside> asides;
  ManyPaths paths;
  Attendance attendance;
  std::optional<std::uint32_t> lost;  // the lost rank that peers are told of
  std::uint64_t early_bytes = 0;
  base::Nanos released = 0;  // the latest exchange
  bool symmetric = false;    // every rank sends as much as it receives
};

// engine_control.cc: acknowledgements, probes, notices.
bool emit_ack(Parts& e, Emission* out);
bool emit_notice(Parts& e, Emission* out);
bool emit_elsewhere(Parts& e, Emission* out);
bool emit_probe(Parts& e, base::Nanos now, Emission* out);
void fill_probe(Parts& e, base::Nanos now, Emission* out, PeerId id, bool tail);
bool ask_for_acks(Parts& e);
bool sends_copies(const Parts& e);

// engine_send.cc: data that is sent for the first time.
bool emit_data(Parts& e, base::Nanos now, Emission* out);
bool due(Parts& e, base::Nanos now);
void fill_data(Parts& e, Emission* out, PeerId id, const SendWindow& window, std::uint32_t packet,
               std::uint64_t exchange, bool tail);

bool emit_parity(Parts& e, base::Nanos now, Emission* out);

// engine_resend.cc: what is sent again.
bool emit_resend(Parts& e, base::Nanos now, Emission* out);
std::uint32_t resends_outstanding(const Parts& e, PeerId id, const SendWindow& window, bool tail);
std::uint32_t next_resend(const Parts& e, PeerId id, const SendWindow& window, bool tail);

// engine_receive.cc: what arrives.
Verdict receive(Parts& e, base::Nanos now, const wire::Header& header, std::uint64_t exchange,
                std::uint32_t length, std::span<const std::byte> body);
bool accept_held(Parts& e, PeerId id, std::uint32_t packet, std::uint32_t length);
void accept_recovered(Parts& e, base::Nanos now, PeerId id);

// engine_ack.cc: acknowledgements of what this rank has sent.
void implied_ack(Parts& e, base::Nanos now, PeerId id, std::uint64_t exchange);
void apply_ack(Parts& e, base::Nanos now, PeerId id, std::uint64_t exchange,
               std::uint32_t cumulative, const wire::AckBody* body);

// engine_timers.cc: when to look at a peer again, after what is due has been done.
base::Nanos scan_peer(Parts& e, base::Nanos now, PeerId id);

}  // namespace alm::transport::engine

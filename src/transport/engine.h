// The protocol of one rank towards a set of peers, without bytes, sockets or clocks.
//
// Sending. Inside a round, trains of `grain` packets go to the partners in turn (synchronous
// shuffle, 000 Alg 1); a round ends when everything of it has been sent and received. A packet may
// be sent while eta < W or unacked < W (design section 5): eta rises with each first transmission
// and falls with each new packet received (000 Alg 2), so a symmetric exchange clocks itself; the
// count of unacknowledged packets takes over where nothing comes back. eta is clamped at 0; what a
// late starter receives meanwhile is banked up to 4 W and given back one for every two arrivals, so
// that it never releases a burst. Losses say that others are in the queues, unless this rank has
// its full speed (crowd.h); W is then less than the cluster file allows (yield.h), and the bank has
// no bound: where few packets are under way, a job comes to a stop for want of those that a late
// rank has swallowed.
//
// Uneven blocks are sent in steps instead, so that no port is asked for more than it carries; there
// the steps of the schedule, idle ones included, take the place of packets (engine_steps.cc).
//
// A block may be withheld at the start, because it is not there yet. The order of sending passes
// over its peer until make_ready(); the round it belongs to does not end before.
//
// Far peers. Where a thin link far away is the limit, data is paced: a full frame leaves every
// Config::pace, so that all who share the link fill it evenly. What is sent again takes its turn in
// the pace, and goes twice, as do probes: a second loss would be found by a timer, a round trip
// later at the earliest. If packets were lost, in this exchange or the one before, all peers are
// asked what has come as soon as everything is sent: a timer would find out about the last packets
// later. Where more than one packet in 16 is lost, as on a link that others use or that is slower
// than it is said to be, the pace slows down by a quarter for each round trip, to an eighth at
// most, and comes back when it is quiet. The window only bounds what is under way, and a block may
// be further ahead of its acknowledgements (Config::span_packets) than a bitmap reaches. Acks then
// take turns with the parts of what has come. Of packets that no bitmap has told of nothing is
// known: they are not resent.
//
// Acknowledging. Every data packet carries the cumulative count of its reverse block. A data packet
// or probe of exchange e says that its sender has completed all before e. Where neither is due
// within one cycle of the schedule, an explicit ack goes out; at once when packets come out of
// order or the sender asks for it.
//
// Losing. A packet is resent on evidence only: something sent later on the same path has come
// (`seen` in an ack), or a probe sent later has been answered. Resends form epochs: a resent packet
// counts as lost again only on evidence newer than the latest resend.
//
// Paths. Where a rank uses several, a train stays on one (path_policy.h says on which), and losses
// are found path by path (peer_paths.h); `seen` then tells of its own packet alone. Of packets that
// come past a gap only one in as many as there are paths is answered at once. Probes go by the path
// of the packet that is missed longest, the next one by another.
//
// Agreeing. The last packet of a block says so, and a probe tells what its sender sends and
// expects: unequal sizes show in what comes, or in what does not and is asked for. Whoever sees
// both sizes tells all ranks, and the exchange ends for all.
//
// Timers. What is missing within a train is asked for after two round trips, as measured from what
// is sent anyway (answer_time.h): patience P. Between trains it takes a cycle more and longer.
// Cycles = partners x train x packet time, measured as the exchange goes. Where nothing tells the
// round trip, or a peer has not begun, J is waited for, what exchanges take longer than their
// packets need (scheduling, skew), per cycle, measured over the exchanges before that lost nothing,
// and at least Config::timer_jitter; at most a quarter of a cycle beyond that while W yields,
// because waiting for the others of a queue is not skew:
//   delayed ack   1 cycle + 2 J while an exchange runs, 1 cycle + 25 ms after it
//   probe         R + 2 cycles + 4 J while packets are unacknowledged; R + 4 cycles + 100 ms after
//                 the exchange (the receiver that misses something asks); R + 3 cycles + 6 J while
//                 data is awaited, or if that is less P within a train and P + 3 cycles after one;
//                 doubled for each probe unanswered, at most 1 s. R is the round trip of the links
//                 alone, as far as it is known (Config::round_trip)
// Whoever loses packets though it has its full speed asks P + 1 cycle after what it has sent, P
// after what it has sent again or asked, and asks all peers what has come as soon as it has sent
// everything: no closer together than packets, for in a queue probes take as much room.
// The fixed times are those of Config, here as they are at full speed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "base/rounds.h"
#include "base/time.h"
#include "transport/answer_time.h"
#include "transport/config.h"
#include "transport/crowd.h"
#include "transport/emission.h"
#include "transport/peer_paths.h"
#include "transport/peer_queue.h"
#include "transport/send_log.h"
#include "transport/windows.h"
#include "transport/yield.h"
#include "wire/control.h"
#include "wire/header.h"

namespace alm::transport {

using base::Rounds;
using base::Train;

class Engine {
 public:
  Engine(const Config& config, PeerId self, std::uint32_t peers);
  Engine(Engine&&) = default;
  Engine& operator=(Engine&&) = default;

  std::uint32_t packet_bytes() const { return packet_bytes_; }
  std::uint32_t packets_of(std::uint64_t bytes) const;
  std::uint32_t length_of(std::uint64_t bytes, std::uint32_t packet) const;

  // `rounds` must outlive the exchange; `withheld` ([peer], or empty) need not.
  void start(base::Nanos now, const Rounds& rounds, const BlockSizes& send, const BlockSizes& recv,
             std::span<const std::uint8_t> withheld = {}, bool reports_arrivals = false);
  // The block for a peer that was withheld at the start is there.
  void make_ready(PeerId peer);
  // Peers whose whole block of the running exchange, or of the one released last, has come: each
  // once, in the order in which the blocks became whole. Empty blocks are not reported.
  bool take_arrival(PeerId* peer);
  std::size_t arrivals() const { return arrivals_.size(); }  // not taken yet
  bool running() const { return running_; }
  bool complete() const;
  void release(base::Nanos now);
  // Nothing more is sent, except that `lost`, the number of a rank, is told to all peers, and again
  // to those who still ask.
  void abandon(std::optional<std::uint32_t> lost);
  bool settled() const;

  // The full exchange number nearest to the ones in use.
  std::uint64_t expand(std::uint16_t low) const;
  // Hints for the processor's cache: this engine will be used; a packet from this peer is coming;
  // next() will be called.
  void expect_use() const {
    const auto* begin = reinterpret_cast<const char*>(&peers_);
    const auto* end = reinterpret_cast<const char*>(&counters_.path_loads);
    fetch_lines(&config_, 1);
    fetch_lines(begin, static_cast<std::size_t>(end - begin));
  }
  void expect_from(PeerId peer) const { fetch(peer); }
  void expect_next() const {
    const std::uint32_t at = position_ + (train_left_ == 0 ? 1 : 0);
    if (at < turn_.size()) fetch(turn_[at]);
  }
  // One authentic packet. `length`: payload bytes; `body`: those of a control packet.
  Verdict on_packet(base::Nanos now, const wire::Header& header, std::uint64_t exchange,
                    std::uint32_t length, std::span<const std::byte> body);
  // Data held since before start(), after it. False: it does not fit the exchange, drop it.
  bool replay(PeerId peer, std::uint32_t packet, std::uint32_t length);

  // The next datagram to send now, if there is one.
  bool next(base::Nanos now, Emission* out);
  base::Nanos deadline() const {
    const base::Nanos probe_at = probe_queue_.empty() ? base::kNever : next_probe_at_;
    return std::min({next_timer_, next_step_at_, probe_at});
  }

  // Nothing that comes before then changes what this rank does, nor can the exchange be complete:
  // all of it is sent, and the link needs longer for what is still to come. Else `now`.
  base::Nanos unmoved_until(base::Nanos now) const;
  // Of the longest packet of the exchange, on the host link.
  base::Nanos frame_time() const { return frame_time_; }

  std::optional<PeerFailure> check_peers(base::Nanos now);
  // By a peer that has given up, in an exchange or between two.
  const std::optional<PeerFailure>& told() const { return told_; }
  // For so long nobody looked at what arrived: no peer was silent in that time.
  void was_deaf(base::Nanos time) { deaf_ += time; }

  // Set once two ranks are known not to agree: this engine has given up then, and tells the others.
  const std::optional<Mismatch>& mismatch() const { return mismatch_; }

  // A peer that is in an exchange this rank has not entered.
  struct Ahead {
    base::Nanos since = 0;
    std::uint64_t sends = 0;  // to this rank, in bytes; 0: it has not said yet
  };
  std::optional<Ahead> ahead(PeerId peer) const;
  // When the peer last said that it has not entered the running exchange; 0: it has not said so.
  base::Nanos not_entered_at(PeerId peer) const;
  // It has said so, and nothing of the running exchange has come from it since.
  bool absent(PeerId peer) const;

  // While a rank is not in an exchange of this engine: the call it is in, counted by all ranks
  // alike, and what it sends to each in it by other means. Told to those who ask for an exchange it
  // has not entered.
  using Elsewhere = wire::ElsewhereBody;
  void be_elsewhere(const std::optional<Elsewhere>& elsewhere) { elsewhere_ = elsewhere; }
  // What the peer has said, in the running exchange.
  std::optional<Elsewhere> elsewhere(PeerId peer) const;

  // Unacknowledged part of the block for `peer`: packets [first, last) of the running exchange.
  struct Range {
    std::uint32_t first = 0, last = 0;
  };
  Range unacknowledged(PeerId peer) const;

  const Counters& counters() const { return counters_; }
  Counters& counters() { return counters_; }
  const Config& config() const { return config_; }

  static constexpr std::size_t bytes_per_peer() { return sizeof(Peer) + sizeof(Aside); }
  std::size_t memory_bytes() const {
    return sizeof(*this) + peers_.capacity() * bytes_per_peer() +
           turn_.capacity() * sizeof(PeerId) + round_recv_left_.capacity() * sizeof(std::uint64_t) +
           sends_.bytes() + paths_bytes();
  }

 private:
  // What the hot path touches per peer: two lines of the processor's cache.
  struct alignas(64) Peer {
    SendWindow send;
    ReceiveWindow recv;
    base::Nanos quiet_since = 0;  // last send, ack progress or probe: the sender's probe timer
    base::Nanos wait_since = 0;   // last data or probe: the receiver's probe timer
    base::Nanos heard = 0;        // last authentic packet, in time listened
    base::Nanos owed_since = base::kNever;  // first data not yet acknowledged
    std::uint64_t owed_exchange = 0;
    std::uint32_t probe_number = 0;
    std::uint32_t probe_next = 0;  // `next` when it was sent
    std::uint32_t echo = 0;        // probe to answer
    std::uint32_t round = 0;       // round its data belongs to
    std::uint8_t backoff = 0;
    bool ack_queued = false, resend_queued = false, probe_queued = false;
    bool resent_since_probe = false, probe_of_tail = false, warned = false;
    bool withheld = false;  // the block for it is not there yet
  };
  static constexpr std::uint8_t kBackoffMax = 10;
  static_assert(sizeof(Peer) <= 128, "hot state per peer (design section 5)");
  // The rest: the exchange before and the one after.
  struct Aside {
    SendWindow tail;
    ReceiveWindow early;
    std::uint64_t reply_exchange = 0;
    std::uint64_t disputed = 0;  // number of the exchange + 1 whose block is not as expected
    std::uint64_t ahead_in = 0;  // number of the exchange + 1
    std::uint32_t bitmap_turn = 0;
    std::uint32_t probed_since = 0;  // number of the first probe since which nothing was sent
    Ahead ahead;
    base::Nanos not_entered_at = 0;
    std::uint32_t asked = 0;      // number of the probe whose answer is timed; 0: none
    base::Nanos asked_at = 0;     // when that was sent
    base::Nanos answered_in = 0;  // the time to an answer that was not held back; 0: none
    std::optional<Elsewhere> elsewhere;
  };

  static void fetch_lines(const void* from, std::size_t bytes) {
    const auto* at = static_cast<const char*>(from);
    for (std::size_t i = 0; i < bytes; i += 64) __builtin_prefetch(at + i);
  }
  void fetch(PeerId id) const { fetch_lines(&peers_[id], sizeof(Peer)); }
  // engine_disputes.cc
  void dispute(PeerId id, std::uint64_t exchange);
  bool disputed(PeerId id, std::uint64_t exchange) const {
    return asides_[id].disputed == exchange + 1;
  }
  // Of the running exchange.
  bool disputed(PeerId id) const { return in_dispute_ && disputed(id, current()); }
  // Packets of the exchange before that are not acknowledged.
  bool owes_tail(PeerId id) const {
    return tail_unacked_ > 0 && asides_[id].tail.outstanding() > 0;
  }
  void note_ahead(base::Nanos now, PeerId id, std::uint64_t exchange, std::uint64_t sends);
  bool fits_tail(PeerId id, const wire::Header& header) const;
  bool compare(PeerId id, std::uint64_t exchange, const wire::ProbeBody& theirs);
  bool fits_early(PeerId id, const ReceiveWindow& early) const;
  std::uint32_t expected_length(PeerId id, std::uint32_t packet) const;
  void on_mismatch(const wire::MismatchBody& told);
  void give_up(const Mismatch& mismatch);
  std::optional<wire::ProbeBody> sizes_with(PeerId id, std::uint64_t exchange) const;

  // engine_receive.cc
  template <class Body, class Handler>
  void decoded(const std::optional<Body>& body, const Handler& handle);
  void on_ack(base::Nanos now, const wire::Header& header, std::uint64_t exchange,
              const wire::AckBody& ack);
  void on_probe(base::Nanos now, const wire::Header& header, std::uint64_t exchange,
                const wire::ProbeBody& probe);
  void on_lost(base::Nanos now, PeerId id, std::uint32_t number);
  void on_elsewhere(base::Nanos now, PeerId id, std::uint64_t exchange, const Elsewhere& elsewhere);
  Verdict on_data(base::Nanos now, const wire::Header& header, std::uint64_t exchange,
                  std::uint32_t length);
  bool accept(Peer& peer, std::uint32_t packet, std::uint32_t length, std::uint64_t bytes);
  void overtaken(PeerId id);
  Verdict hold_early(base::Nanos now, PeerId id, std::uint32_t packet, std::uint32_t length,
                     std::uint64_t exchange, bool ack_soon);
  void owe(base::Nanos now, PeerId id, std::uint64_t exchange);
  void heard(base::Nanos now, PeerId id);
  void paid(PeerId id);
  void reply(PeerId id, std::uint64_t exchange, std::uint32_t echo);
  void reply_again(PeerId id, std::uint64_t exchange, std::uint32_t echo);
  void credit();
  void note_loss(base::Nanos now);
  std::uint32_t busy_window() const;
  bool gap_is_loss(const Peer& peer) const { return !many_paths() && peer.recv.hole(); }
  // engine_ack.cc
  SendWindow* window_of(PeerId id, std::uint64_t exchange);
  void implied_ack(base::Nanos now, PeerId id, std::uint64_t exchange);
  void apply_ack(base::Nanos now, PeerId id, std::uint64_t exchange, std::uint32_t cumulative,
                 const wire::AckBody* body);
  void measure_answer(base::Nanos now, PeerId id, std::uint32_t cumulative,
                      const wire::AckBody* body);
  void answered(base::Nanos now, PeerId id, base::Nanos took);
  bool answers_probe(PeerId id, bool tail, std::uint32_t echo) const;
  void merge_ack(SendWindow& window, PeerId id, bool tail, std::uint32_t cumulative,
                 const wire::AckBody& body);
  void fill_control(Emission* out, PeerId id, wire::Type type, std::uint64_t exchange);
  void queue_probe(PeerId id);
  bool emit_ack(Emission* out);
  bool emit_notice(Emission* out);
  bool emit_elsewhere(Emission* out);
  bool emit_resend(base::Nanos now, Emission* out);
  std::uint32_t resend_budget() const;
  bool sends_copies() const;
  bool emit_copy(base::Nanos now, Emission* out);
  void fill_probe(base::Nanos now, Emission* out, PeerId id, bool tail);
  bool emit_probe(base::Nanos now, Emission* out);
  // engine_send.cc
  bool emit_data(base::Nanos now, Emission* out);
  bool may_send() const;
  bool ends_unanswered(const Peer& peer) const;
  void count_sent(base::Nanos now, const Emission& sent);
  bool ask_for_acks();
  bool due(base::Nanos now);
  // `follows`: others of its block have left before.
  void paced(base::Nanos now, std::uint32_t length, bool follows);
  void adapt_pace();
  bool choose_partner(base::Nanos now);
  void load_round();
  void next_partner(base::Nanos now);
  void drop_partner();
  void measure_cycle(base::Nanos now);
  std::uint32_t train_length() const;
  void fill_data(Emission* out, PeerId id, const SendWindow& window, std::uint32_t packet,
                 std::uint64_t exchange, bool tail);
  // engine_paths.cc
  bool many_paths() const { return !paths_.empty(); }
  void make_paths();
  void begin_paths(const Rounds& rounds);
  void choose_path(base::Nanos now, Emission* out);
  bool choose_path_again(base::Nanos now, Emission* out, bool tail);
  void choose_path_of_probe(base::Nanos now, Emission* out, bool tail);
  std::uint32_t resends_outstanding(PeerId id, const SendWindow& window, bool tail) const;
  std::uint32_t next_resend(PeerId id, const SendWindow& window, bool tail) const;
  void settle_paths(base::Nanos now, PeerId id, bool tail, const wire::AckBody* body);
  bool answers_gap(PeerId id) { return !many_paths() || paths_[id].answers_gap(); }
  base::Nanos quiet_since(PeerId id) const;
  bool asks_back(base::Nanos now, PeerId id) const;
  std::size_t paths_bytes() const;
  // engine_steps.cc
  void start_steps(base::Nanos now);
  bool stepping() const { return train_ < rounds_->trains.size(); }
  bool emit_step(base::Nanos now, Emission* out);
  void skip_exhausted();
  base::Nanos time_of(std::uint64_t step) const;
  base::Nanos lead() const;
  std::uint64_t ahead_max() const;
  base::Nanos next_arrival_at() const;
  void resent_in_steps();
  bool pass_over_withheld();
  void make_ready_in_steps(PeerId id);
  bool emit_late(base::Nanos now, Emission* out);
  void fill_step(base::Nanos now, Emission* out, PeerId id, std::uint64_t step);
  bool step_allowed(base::Nanos now, std::uint64_t step);
  void count_deliveries();
  void count_arrival();
  // engine_timers.cc
  void scan_timers(base::Nanos now);
  base::Nanos scan_peer(base::Nanos now, PeerId id);
  base::Nanos cycle() const { return cycle_; }
  void measure_jitter(base::Nanos now);
  base::Nanos allowance() const;
  base::Nanos ack_delay() const;
  base::Nanos probe_delay_min() const;
  // Doubled with each probe that was not answered, up to the keep-alive.
  base::Nanos backed_off(base::Nanos first, const Peer& peer) const;
  base::Nanos probe_delay(PeerId id) const;
  base::Nanos wait_delay(PeerId id) const;
  base::Nanos patience(PeerId id) const;
  base::Nanos least_delay() const;
  bool loses_alone() const { return lossy_ && !crowd_.crowded(); }
  bool in_train(const Peer& peer) const;
  void measure_spacing(base::Nanos now);
  base::Nanos waited_since(const Peer& peer) const;
  base::Nanos listened(base::Nanos now) const { return now - deaf_; }
  void timer_at(base::Nanos when) { next_timer_ = std::min(next_timer_, when); }

  std::uint64_t current() const { return entered_ - 1; }  // running, or the latest one
  // All exchanges below are complete here; the latest of them is the tail.
  std::uint64_t done_below() const { return running_ ? entered_ - 1 : entered_; }
  bool has_tail() const { return done_below() > 0; }
  std::uint64_t tail_exchange() const { return done_below() - 1; }

  Config config_;
  PeerId self_;
  std::uint32_t packet_bytes_;

  // ---- what every packet touches, side by side (expect_use()) ----
  std::vector<Peer> peers_;
  // Exchanges are numbered from 0. entered_ of them have been started. Early data belongs to number
  // entered_.
  std::uint64_t entered_ = 0;
  const Rounds* rounds_;  // of the running exchange
  BlockSizes send_sizes_, recv_sizes_;
  // Position in the schedule.
  std::vector<PeerId> turn_;    // the round's partners with packets left, in order
  std::uint32_t position_ = 0;  // in turn_
  std::uint32_t train_left_ = 0;
  std::size_t round_ = 0;
  std::size_t train_ = 0, arrival_ = 0;
  std::vector<std::uint64_t> round_recv_left_;
  std::uint64_t send_left_ = 0, recv_left_ = 0;  // packets, all rounds
  // Windows over all peers, in packets.
  std::uint32_t window_ = 1;                     // of the running exchange
  base::Nanos pace_ = 0;                         // between two full frames; 0: as the window allows
  base::Nanos paced_at_ = 0;                     // when the next packet may leave
  std::uint64_t pace_sent_ = 0, pace_lost_ = 0;  // since the pace was last looked at
  Yield yield_;
  SendLog sends_;
  AnswerTime answers_;
  Crowd crowd_;
  std::uint32_t eta_ = 0;
  std::uint32_t banked_ = 0;
  // Outstanding retransmissions. The tail has a budget of its own: the running exchange may wait
  // for a peer that waits for our tail.
  std::uint32_t resends_ = 0, tail_resends_ = 0;
  bool running_ = false;
  bool abandoned_ = false;
  bool bank_turn_ = false;
  bool spare_ = false;       // one packet out of the bank, beyond the window
  bool in_dispute_ = false;  // a block of the running exchange is not as expected
  bool lossy_ = false;       // the running exchange resent packets or saw holes
  bool was_lossy_ = false;   // the one before did
  std::uint32_t answer_turn_ = 0;
  bool reports_arrivals_ = false;
  std::uint64_t unacked_ = 0;  // running exchange and tail
  std::uint64_t tail_unacked_ = 0;
  std::uint64_t owing_ = 0;          // peers with owed_since set
  base::Nanos deaf_ = 0;             // in all
  std::uint64_t cycle_packets_ = 1;  // sent between two turns of a partner
  base::Nanos cycle_ = 0;            // measured, at least the nominal one
  base::Nanos jitter_ = 0;           // J
  base::Nanos last_arrival_at_ = 0;
  base::Nanos next_timer_ = base::kNever;
  base::Nanos next_step_at_ = base::kNever;
  base::Nanos next_probe_at_ = 0;  // no probe leaves before
  PeerQueue arrivals_;
  PeerQueue ack_queue_, resend_queue_, probe_queue_, elsewhere_queue_;
  Counters counters_;
  // ---- the rest ----

  std::vector<Aside> asides_;
  std::vector<PeerPaths> paths_;       // by peer; empty: one path
  PeerId train_peer_ = 0;              // that was sent to last
  std::uint32_t small_turn_ = 0;       // of small blocks, for the next exchange
  std::optional<std::uint32_t> lost_;  // why; told to peers
  std::optional<PeerFailure> told_;    // by a peer
  std::optional<Mismatch> mismatch_;   // found, or told by a peer
  BlockSizes tail_sizes_, tail_recv_sizes_;
  // Block sizes of the tail, when not uniform.
  std::vector<std::uint64_t> tail_bytes_, tail_recv_bytes_;

  std::size_t round_withheld_ = 0;         // blocks of the round that are not there yet
  std::vector<std::uint32_t> send_round_;  // [peer] if blocks were withheld at the start

  // Position in the trains. The clocks are one past the step of the latest packet that has arrived,
  // or is known to have been delivered.
  std::size_t delivered_ = 0;
  std::uint32_t train_sent_ = 0, arrival_taken_ = 0, delivered_taken_ = 0;
  std::uint64_t send_total_ = 0, delivered_packets_ = 0;
  std::uint64_t arrival_clock_ = 0, delivery_clock_ = 0;
  std::uint64_t last_step_ = 0;  // this rank sent in
  base::Nanos anchor_at_ = 0;    // the time of step 0, as far as this rank keeps to it
  // Trains before train_ that were passed over, in order, and those of them that are ready since.
  std::vector<std::size_t> passed_;
  std::deque<std::size_t> late_;
  std::size_t passed_delivered_ = 0;  // of passed_, those that the delivery clock has left behind
  std::uint32_t late_sent_ = 0;       // of the first late train
  std::uint64_t late_packets_sent_ = 0;
  bool all_withheld_ = false;  // from train_ on

  bool asked_ = false;  // once per exchange
  // What is sent again far away goes twice: a packet, or the latest probe.
  struct Copy {
    PeerId peer = 0;
    std::uint64_t exchange = 0;
    std::optional<std::uint32_t> packet;  // none: a probe
  };
  std::deque<Copy> copies_;
  std::uint64_t early_bytes_ = 0;
  std::optional<Elsewhere> elsewhere_;

  base::Nanos started_ = 0;
  base::Nanos released_ = 0;         // the latest exchange
  base::Nanos listening_since_ = 0;  // the start, in time listened
  bool symmetric_ = false;           // every rank sends as much as it receives
  base::Nanos frame_time_ = 0;
  base::Nanos nominal_cycle_ = 0;
  base::Nanos nominal_total_ = 0;  // what the packets of the exchange need on the host link
  std::uint64_t cycles_ = 1;
  base::Nanos last_wrap_ = 0;
  base::Nanos next_check_ = 0;
};

}  // namespace alm::transport

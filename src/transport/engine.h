// The protocol of one rank towards a set of peers, without bytes, sockets or clocks.
//
// Sending. Inside a round, trains of `grain` packets go to the partners in turn (synchronous
// shuffle, 000 Alg 1); a round ends when everything of it has been sent and received. A packet may
// be sent while eta < W or unacked < W (design section 5): eta rises with each first transmission
// and falls with each new packet received (000 Alg 2), so a symmetric exchange clocks itself; the
// count of unacknowledged packets takes over where nothing comes back. eta is clamped at 0: what a
// rank receives while it is late goes into a bank of at most 4 W, and every second arrival gives
// one packet back, so that the bank never releases a burst. Losses mean that others are in the
// queues, unless this rank has its full speed (crowd.h); then W falls below what the cluster file
// allows (yield.h), and the bank has no bound: with few packets under way, the job would stop if
// those in the bank of a late rank were lost to it.
//
// Uneven blocks are sent in steps instead, so that no port gets more than it carries; there steps
// of the schedule, idle ones included, take the place of packets (engine_steps.cc).
//
// A block may be withheld at the start, because it is not there yet. Its peer is skipped in the
// order of sending until make_ready(); its round does not end before.
//
// Far peers. Where a thin link far away is the limit, data is paced: a full frame leaves every
// Config::pace, so that all ranks that share the link fill it evenly. Resends keep to the pace.
// Resends and probes are sent twice, because only a timer would find their loss, a round trip later
// at the earliest. If packets were lost, in this exchange or the one before, all peers are asked
// what has come as soon as everything is sent: a timer would find out about the last packets later.
// If more than one packet in 16 is lost, as on a link that others use or that is slower than the
// cluster file says, the pace slows down by a quarter each round trip, to an eighth at most, and
// recovers when losses end; meanwhile nothing is sent twice. The window only bounds what is under
// way, and a block may be further ahead of its acknowledgements (Config::span_packets) than a
// bitmap reaches. Acks then send their bitmaps in turn. A packet that no bitmap has covered yet is
// not resent, because it may have come.
//
// Acknowledging. Every data packet carries the cumulative count of its reverse block. A data packet
// or probe of exchange e also means that its sender has completed all exchanges before e. If none
// is sent within one cycle of the schedule, an explicit ack goes out; it goes out at once when
// packets come out of order or the sender asks for it.
//
// Losing. A packet is resent on evidence only: a packet sent later on the same path has come
// (`seen` in an ack), or a probe sent later has been answered. Resends form epochs: a resent packet
// counts as lost again only on evidence newer than the latest resend.
//
// Paths. Where a rank uses several, a train stays on one (path_policy.h chooses it), and losses are
// found path by path (peer_paths.h); `seen` is then evidence about its own path alone. With n paths
// one in n packets that come past a gap is answered at once. A probe goes by the path of the packet
// that has been missing longest, the next one by another.
//
// Agreeing. The last packet of a block is marked, and a probe holds the sizes that its sender sends
// and expects. So unequal sizes show in the packets that come, or in the probe for those that do
// not. A rank that sees both sizes tells all ranks, and the exchange ends for all.
//
// Timers. P, the patience, is two round trips as measured from what is sent anyway (answer_time.h):
// a rank asks after P for a packet that is missing within a train, and later for a train that is
// missing. A cycle = partners x train x packet time, measured as the exchange goes. J is the time
// per cycle by which exchanges take longer than their packets need (scheduling, skew), measured
// over earlier exchanges that lost nothing, at least Config::timer_jitter. Timers rest on J where
// the round trip is not known or a peer has not begun. While W yields, J counts as at most a
// quarter of a cycle or Config::timer_jitter, because waiting for others in a queue is not skew:
//   delayed ack   1 cycle + 2 J while an exchange runs, 1 cycle + 25 ms after it
//   probe         R + 2 cycles + 4 J while packets are unacknowledged; R + 4 cycles + 100 ms after
//                 the exchange (the receiver that misses something asks); R + 3 cycles + 6 J while
//                 data is awaited, or if that is less P within a train and P + 3 cycles after one;
//                 doubled for each probe unanswered, at most 1 s. R is the round trip of the links
//                 alone, as far as it is known (Config::round_trip)
// A rank that loses packets at full speed asks P + 1 cycle after it has sent a packet, and P after
// a resend or a probe. It asks all peers what has come as soon as it has sent everything, with
// probes no closer together than packets, because they take as much room in a queue. The fixed
// times are those of Config at full speed.
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

  void hurry(bool hurries) { hurries_ = hurries; }  // later exchanges wait for no step's time
  // `rounds` must outlive the exchange; `withheld` ([peer], or empty) need not.
  void start(base::Nanos now, const Rounds& rounds, const BlockSizes& send, const BlockSizes& recv,
             std::span<const std::uint8_t> withheld = {}, bool reports_arrivals = false);
  // The block for this peer, withheld at the start, is in the send buffer now.
  void make_ready(PeerId peer);
  // A peer whose whole block of the running exchange, or of the one released last, has come.
  // Reports each peer once, in the order in which blocks became whole, but none with an empty
  // block.
  bool take_arrival(PeerId* peer);
  std::size_t arrivals() const { return arrivals_.size(); }  // not taken yet
  bool running() const { return running_; }
  bool complete() const;
  void release(base::Nanos now);
  // Ends all sending, except notices that rank number `lost` is lost: to all peers, and again to
  // those that still ask.
  void abandon(std::optional<std::uint32_t> lost);
  bool settled() const;

  // The full exchange number with these low bits that is nearest to the current one.
  std::uint64_t expand(std::uint16_t low) const;
  // Prefetch hints: this engine will be used; a packet from this peer is coming; next() will be
  // called.
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
  // Takes one authentic packet. `length`: payload bytes; `body`: the payload of a control packet.
  Verdict on_packet(base::Nanos now, const wire::Header& header, std::uint64_t exchange,
                    std::uint32_t length, std::span<const std::byte> body);
  // Takes data that was held before start(). False: it does not fit the exchange and is dropped.
  bool replay(PeerId peer, std::uint32_t packet, std::uint32_t length);

  // The next datagram to send now, if there is one.
  bool next(base::Nanos now, Emission* out);
  base::Nanos deadline() const {
    const base::Nanos probe_at = probe_queue_.empty() ? base::kNever : next_probe_at_;
    return std::min({next_timer_, next_step_at_, probe_at});
  }

  // Until then no packet that comes changes what this rank does or completes the exchange:
  // everything is sent, and the link needs that long for what is still to come. `now` if there is
  // no such time.
  base::Nanos unmoved_until(base::Nanos now) const;
  // The time of the exchange's longest packet on the host link.
  base::Nanos frame_time() const { return frame_time_; }

  std::optional<PeerFailure> check_peers(base::Nanos now);
  // The notice of a peer that has given up, in an exchange or between two.
  const std::optional<PeerFailure>& told() const { return told_; }
  // Nobody read what arrived for so long: peers do not count as silent in that time.
  void was_deaf(base::Nanos time) { deaf_ += time; }

  // Set once two ranks are known not to agree. This engine has given up then, and tells the others.
  const std::optional<Mismatch>& mismatch() const { return mismatch_; }

  // Since when a peer is in an exchange that this rank has not entered.
  struct Ahead {
    base::Nanos since = 0;
    std::uint64_t sends = 0;  // bytes to this rank; 0: not known yet
  };
  std::optional<Ahead> ahead(PeerId peer) const;
  // When the peer last said that it has not entered the running exchange; 0: never.
  base::Nanos not_entered_at(PeerId peer) const;
  // It has said so, and nothing of the running exchange has come from it since.
  bool absent(PeerId peer) const;

  // While this rank is in a call but in no exchange of this engine: the number of the call, equal
  // on all ranks, and the bytes it sends to each rank by other means. It is the answer to peers
  // that ask for an exchange that this rank has not entered.
  using Elsewhere = wire::ElsewhereBody;
  void be_elsewhere(const std::optional<Elsewhere>& elsewhere) { elsewhere_ = elsewhere; }
  // That answer of the peer, in the running exchange.
  std::optional<Elsewhere> elsewhere(PeerId peer) const;

  // The unacknowledged part of the block for `peer`: packets [first, last) of the running exchange.
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
  // The fields per peer that the hot path touches: two cache lines.
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
    std::uint32_t round = 0;       // the round in which it sends to this rank
    std::uint8_t backoff = 0;
    bool ack_queued = false, resend_queued = false, probe_queued = false;
    bool resent_since_probe = false, probe_of_tail = false, warned = false;
    bool withheld = false;  // the block for it is not there yet
  };
  static constexpr std::uint8_t kBackoffMax = 10;
  static_assert(sizeof(Peer) <= 128, "hot state per peer (design section 5)");
  // The other fields per peer: the exchange before, the one after, and rare events.
  struct Aside {
    SendWindow tail;
    ReceiveWindow early;
    std::uint64_t reply_exchange = 0;
    std::uint64_t disputed = 0;  // 1 + number of the exchange whose block is not as expected
    std::uint64_t ahead_in = 0;  // 1 + number of the exchange that `ahead` is about
    std::uint32_t bitmap_turn = 0;
    std::uint32_t probed_since = 0;  // the first of the probes since which nothing was sent
    Ahead ahead;
    base::Nanos not_entered_at = 0;
    std::uint32_t asked = 0;      // number of the probe whose answer is timed; 0: none
    base::Nanos asked_at = 0;     // when that probe was sent
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
  // The same for the running exchange.
  bool disputed(PeerId id) const { return in_dispute_ && disputed(id, current()); }
  // Whether packets of the exchange before are unacknowledged.
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
  // `follows`: it is not the first packet of its block.
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
  // Doubles `first` for each unanswered probe, up to the keep-alive.
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

  std::uint64_t current() const { return entered_ - 1; }  // the running exchange, or the latest
  // All exchanges with lower numbers are complete on this rank; the latest of them is the tail.
  std::uint64_t done_below() const { return running_ ? entered_ - 1 : entered_; }
  bool has_tail() const { return done_below() > 0; }
  std::uint64_t tail_exchange() const { return done_below() - 1; }

  Config config_;
  PeerId self_;
  std::uint32_t packet_bytes_;

  // ---- fields that every packet touches, side by side (expect_use()) ----
  std::vector<Peer> peers_;
  // Exchanges are numbered from 0; entered_ of them have been started. Early data belongs to
  // exchange entered_.
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
  std::uint32_t window_ = 1;                     // W of the running exchange
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
  // for a peer that waits for this rank's tail.
  std::uint32_t resends_ = 0, tail_resends_ = 0;
  bool running_ = false;
  bool abandoned_ = false;
  bool bank_turn_ = false;
  bool spare_ = false;       // one packet from the bank may be sent beyond the window
  bool in_dispute_ = false;  // a block of the running exchange is not as expected
  bool lossy_ = false;       // the running exchange resent packets or saw holes
  bool was_lossy_ = false;   // the one before did
  std::uint32_t answer_turn_ = 0;
  bool reports_arrivals_ = false, hurries_ = false;
  std::uint64_t unacked_ = 0;  // packets of running exchange and tail
  std::uint64_t tail_unacked_ = 0;
  std::uint64_t owing_ = 0;          // peers with owed_since set
  base::Nanos deaf_ = 0;             // total time in which nobody read what arrived
  std::uint64_t cycle_packets_ = 1;  // packets between two turns of a partner
  base::Nanos cycle_ = 0;            // measured, at least the nominal one
  base::Nanos jitter_ = 0;           // J
  base::Nanos last_arrival_at_ = 0;
  base::Nanos next_timer_ = base::kNever;
  base::Nanos next_step_at_ = base::kNever;
  base::Nanos next_probe_at_ = 0;  // no probe leaves before this time
  PeerQueue arrivals_;
  PeerQueue ack_queue_, resend_queue_, probe_queue_, elsewhere_queue_;
  Counters counters_;
  // ---- the rest ----

  std::vector<Aside> asides_;
  std::vector<PeerPaths> paths_;       // by peer; empty: one path
  PeerId train_peer_ = 0;              // the peer that was sent to last
  std::uint32_t small_turn_ = 0;       // which path small blocks take in the next exchange
  std::optional<std::uint32_t> lost_;  // the lost rank that peers are told of
  std::optional<PeerFailure> told_;    // a peer's notice that it has given up
  std::optional<Mismatch> mismatch_;   // found, or told by a peer
  BlockSizes tail_sizes_, tail_recv_sizes_;
  // Block sizes of the tail, if not uniform.
  std::vector<std::uint64_t> tail_bytes_, tail_recv_bytes_;

  std::size_t round_withheld_ = 0;         // blocks of the round that are not there yet
  std::vector<std::uint32_t> send_round_;  // [peer]; empty if no blocks were withheld

  // Position in the trains. arrival_clock_ is 1 + the step of the latest packet that has arrived,
  // delivery_clock_ 1 + that of the latest packet known to be delivered.
  std::size_t delivered_ = 0;
  std::uint32_t train_sent_ = 0, arrival_taken_ = 0, delivered_taken_ = 0;
  std::uint64_t send_total_ = 0, delivered_packets_ = 0;
  std::uint64_t arrival_clock_ = 0, delivery_clock_ = 0;
  std::uint64_t last_step_ = 0;  // the last step in which this rank sent
  base::Nanos anchor_at_ = 0;    // the time of step 0; moved when this rank falls behind
  // Trains before train_ that were skipped, in order, and those of them that are ready now.
  std::vector<std::size_t> passed_;
  std::deque<std::size_t> late_;
  std::size_t passed_delivered_ = 0;  // so many of passed_ are behind the delivery clock
  std::uint32_t late_sent_ = 0;       // packets of the first late train
  std::uint64_t late_packets_sent_ = 0;
  bool all_withheld_ = false;  // all trains from train_ on

  bool asked_ = false;  // ask_for_acks() has been done in this exchange
  // A packet or the latest probe, to be sent a second time to a far peer.
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
  base::Nanos listening_since_ = 0;  // when the exchange started, in time listened
  bool symmetric_ = false;           // every rank sends as much as it receives
  base::Nanos frame_time_ = 0;
  base::Nanos nominal_cycle_ = 0;
  base::Nanos nominal_total_ = 0;  // the time that the exchange's packets need on the host link
  std::uint64_t cycles_ = 1;
  base::Nanos last_wrap_ = 0;
  base::Nanos next_check_ = 0;
};

}  // namespace alm::transport

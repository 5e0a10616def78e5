// The protocol of one rank towards a set of peers, without bytes, sockets or clocks.
//
// Sending. Inside a round, trains of `grain` packets go to the partners in turn (synchronous
// shuffle, 000 Alg 1); a round ends when everything of it has been sent and received. A packet may
// be sent while eta < W or unacked < W (design section 5): eta rises with each first transmission
// and falls with each new packet received (000 Alg 2), so a symmetric exchange clocks itself; the
// count of unacknowledged packets takes over where nothing comes back. eta is clamped at 0: what a
// rank receives while it is late goes into a bank of at most 4 W, and every second arrival gives
// one packet back, so that the bank never releases a burst. Losses mean that others are in the
// queues, unless this rank has its full speed (clocks/crowd.h); then W falls below what the cluster
// file allows (clocks/yield.h), and the bank has no bound: with few packets under way, the job
// would stop if those in the bank of a late rank were lost to it.
//
// Uneven blocks are sent in steps instead, so that no port gets more than it carries; there steps
// of the schedule, idle ones included, take the place of packets (clocks/step_clock.h).
//
// A block may be withheld at the start, because it is not there yet. Its peer is skipped in the
// order of sending until make_ready(); its round does not end before.
//
// Far peers. Where a thin link far away is the limit, data is paced (pace.h): a full frame leaves
// every Config::pace, so that all ranks that share the link fill it evenly. Resends keep to the
// pace. Resends and probes are sent twice, because only a timer would find their loss, a round trip
// later at the earliest. If packets were lost, in this exchange or the one before, all peers are
// asked what has come as soon as everything is sent: a timer would find out about the last packets
// later; before that, blocks get parities (blocks/parity_turns.h), from which receivers find
// packets that were lost. If more than one packet in 16 is lost, as on a link that others use or
// that is slower than the cluster file says, the pace slows down by a quarter each round trip, to
// an eighth at most, and recovers when losses end; meanwhile nothing is sent twice. The window only
// bounds what is under way, and a block may be further ahead of its acknowledgements
// (Config::span_packets) than a bitmap reaches. Acks then send their bitmaps in turn. A packet that
// no bitmap has covered yet is not resent, because it may have come.
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
// Paths. Where a rank uses several, a train stays on one (paths/policy.h chooses it), and losses
// are found path by path (paths/peer_paths.h); `seen` is then evidence about its own path alone.
// With n paths one in n packets that come past a gap is answered at once. A probe goes by the path
// of the packet that has been missing longest, the next one by another.
//
// Agreeing. The last packet of a block is marked, and a probe holds the sizes that its sender sends
// and expects. So unequal sizes show in the packets that come, or in the probe for those that do
// not. A rank that sees both sizes tells all ranks, and the exchange ends for all.
//
// Timers. P, the patience, is two round trips as measured from what is sent anyway
// (clocks/answer_time.h): a rank asks after P for a packet that is missing within a train, and
// later for a train that is missing. A cycle = partners x train x packet time, measured as the
// exchange goes. J is the time per cycle by which exchanges take longer than their packets need
// (scheduling, skew), measured over earlier exchanges that lost nothing, at least
// Config::timer_jitter. Timers rest on J where the round trip is not known or a peer has not begun.
// While W yields, J counts as at most a quarter of a cycle or Config::timer_jitter, because waiting
// for others in a queue is not skew:
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

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/time.h"
#include "blocks/sizes.h"
#include "transport/attendance.h"
#include "transport/config.h"
#include "transport/emission.h"
#include "transport/engine_parts.h"
#include "transport/silence.h"
#include "wire/exchange_numbers.h"
#include "wire/header.h"

namespace alm::transport {

// Prefetches the cache lines of what lies there.
inline void fetch_lines(const void* from, std::size_t bytes) {
  const auto* at = static_cast<const char*>(from);
  for (std::size_t i = 0; i < bytes; i += 64) __builtin_prefetch(at + i);
}

class Engine {
 public:
  using Ahead = Attendance::Ahead;
  using Elsewhere = Attendance::Elsewhere;

  Engine(const Config& config, PeerId self, std::uint32_t peers) : parts_(config, self, peers) {}
  Engine(Engine&&) = default;
  Engine& operator=(Engine&&) = default;

  // Later exchanges wait for no step's time.
  void hurry(bool hurries) { parts_.steps.hurry(hurries); }
  // Exchanges have shown that links are not as the cluster file says. From the next one on the
  // window is sought, as without a file, from the one on that was made for those links.
  // Precondition: no exchange is running.
  void distrust_file();
  // `rounds` must outlive the exchange; `withheld` ([peer], or empty) need not.
  void start(base::Nanos now, const Rounds& rounds, const BlockSizes& send, const BlockSizes& recv,
             std::span<const std::uint8_t> withheld = {}, bool reports_arrivals = false);
  // The block for this peer, withheld at the start, is in the send buffer now.
  void make_ready(PeerId peer);
  // A peer whose whole block of the running exchange, or of the one released last, has come.
  // Reports each peer once, in the order in which blocks became whole; none with an empty block.
  bool take_arrival(PeerId* peer);
  std::size_t arrivals() const { return parts_.arrivals.size(); }  // not taken yet
  bool complete() const {
    return parts_.numbers.running() && !parts_.disputes.open() && parts_.send_left == 0 &&
           parts_.recv_left == 0 && parts_.tail_unacked == 0 && !parts_.parities.left();
  }
  void release(base::Nanos now);
  // Ends all sending, except notices that rank number `lost` is lost: to all peers, and again to
  // those that still ask.
  void abandon(std::optional<std::uint32_t> lost);
  bool settled() const {
    return !parts_.numbers.running() && parts_.unacked == 0 && parts_.acks.owing() == 0 &&
           !parts_.acks.queued();
  }

  const wire::ExchangeNumbers& numbers() const { return parts_.numbers; }
  const Sizes& sizes() const { return parts_.sizes; }
  // Prefetch hints: this engine will be used; a packet from this peer is coming; next() will be
  // called.
  void expect_use() const {
    const auto* begin = reinterpret_cast<const char*>(&parts_.peers);
    const auto* end = reinterpret_cast<const char*>(&parts_.counters.path_loads);
    fetch_lines(&parts_.config, 1);
    fetch_lines(begin, static_cast<std::size_t>(end - begin));
  }
  void expect_from(PeerId peer) const { fetch_lines(&parts_.peers[peer], sizeof(Peer)); }
  void expect_next() const {
    const PeerId* likely = parts_.turns.likely();
    if (likely != nullptr) expect_from(*likely);
  }
  // Takes one authentic packet. `length`: payload bytes; `body`: the payload of a control packet.
  Verdict on_packet(base::Nanos now, const wire::Header& header, std::uint64_t exchange,
                    std::uint32_t length, std::span<const std::byte> body);
  // Takes data that was held before start(). False: it does not fit the exchange and is dropped.
  bool replay(PeerId peer, std::uint32_t packet, std::uint32_t length) {
    return engine::accept_held(parts_, peer, packet, length);
  }

  // As many parities of the peer's block have come as packets of it are lacking: the caller may
  // find those, and say that they are there.
  bool recoverable(PeerId peer) const {
    return parts_.numbers.running() && parts_.parities.suffice(peer, parts_.peers[peer].recv);
  }
  void recovered(base::Nanos now, PeerId peer) { engine::accept_recovered(parts_, now, peer); }

  // The next datagram to send now, if there is one.
  bool next(base::Nanos now, Emission* out);
  base::Nanos deadline() const {
    const base::Nanos probe_at = parts_.probes.queued() ? parts_.probes.next_at() : base::kNever;
    return std::min({parts_.next_timer, parts_.next_step_at, probe_at});
  }

  // Until then no packet that comes changes what this rank does or completes the exchange:
  // everything is sent, and the link needs that long for what is still to come. `now` if there is
  // no such time.
  base::Nanos unmoved_until(base::Nanos now) const;
  // The time of the exchange's longest packet on the host link.
  base::Nanos frame_time() const { return parts_.frame_time; }
  // So much of the running exchange may leave at once if this rank is late: its window, and what
  // the receive clock allows for a window that each of the others has sent before, or gives back.
  // In full packets with their headers.
  std::uint64_t at_once_bytes() const {
    const std::uint64_t windows = clocks::ReceiveClock::kBankWindows + parts_.peers.size();
    return windows * parts_.congestion.window() * parts_.config.datagram_bytes;
  }

  std::optional<PeerFailure> check_peers(base::Nanos now);
  // The notice of a peer that has given up, in an exchange or between two; what was deaf.
  const Silence& silence() const { return parts_.silence; }
  Silence& silence() { return parts_.silence; }

  // Set once two ranks are known not to agree. This engine has given up then, and tells the others.
  const std::optional<Mismatch>& mismatch() const { return parts_.disputes.mismatch(); }

  Attendance& attendance() { return parts_.attendance; }
  // When the peer last said that it has not entered the running exchange; 0: never.
  base::Nanos not_entered_at(PeerId peer) const {
    return parts_.numbers.running() ? parts_.attendance.not_entered_at(peer) : 0;
  }
  // It has said so, and nothing of the running exchange has come from it since.
  bool absent(PeerId peer) const {
    const ReceiveWindow& recv = parts_.peers[peer].recv;
    return not_entered_at(peer) != 0 && recv.seen == 0 && !recv.complete();
  }
  // Where the peer is, if it has said so in the running exchange.
  std::optional<Elsewhere> elsewhere(PeerId peer) const {
    return parts_.numbers.running() ? parts_.attendance.elsewhere(peer) : std::nullopt;
  }

  const ReceiveWindow& receives(PeerId peer) const { return parts_.peers[peer].recv; }
  // The block for `peer` in the running exchange: what of it is sent and acknowledged.
  const SendWindow& window(PeerId peer) const { return parts_.peers[peer].send; }

  const Counters& counters() const { return parts_.counters; }
  Counters& counters() { return parts_.counters; }
  const Config& config() const { return parts_.config; }

  static constexpr std::size_t bytes_per_peer() {
    return sizeof(Peer) + sizeof(Aside) + Disputes::bytes_per_peer() + Attendance::bytes_per_peer();
  }
  std::size_t memory_bytes() const {
    return sizeof(*this) + parts_.peers.capacity() * bytes_per_peer() + parts_.turns.bytes() +
           parts_.congestion.sends().bytes() + parts_.paths.bytes();
  }

 private:
  engine::Parts parts_;
};

}  // namespace alm::transport

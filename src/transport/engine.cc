#include "transport/engine.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace alm::transport {
namespace {

using engine::Parts;

const Rounds kNoRounds;

// Returns the bytes of the largest block.
std::uint64_t begin_blocks(Parts& e, base::Nanos now, std::span<const std::uint8_t> withheld) {
  e.send_left = e.recv_left = 0;
  std::uint64_t largest = 0;
  for (PeerId id = 0; id < e.peers.size(); ++id) {
    Peer& peer = e.peers[id];
    peer.send = SendWindow{};
    peer.recv = ReceiveWindow{};
    const ReceiveWindow early = std::exchange(e.asides[id].early, {});
    peer.quiet_since = now;
    peer.wait_since = now;
    peer.backoff = 0;
    peer.warned = false;
    peer.probe_of_tail = true;
    peer.withheld = !withheld.empty() && withheld[id] != 0;
    if (id == e.self) continue;
    largest = std::max({largest, e.sizes.sends(id), e.sizes.expects(id)});
    peer.send.total = e.sizes.packets_of(e.sizes.sends(id));
    peer.recv.total = e.sizes.packets_of(e.sizes.expects(id));
    // Early data lost or refused is asked for now; the ack leaves after the held data is replayed.
    peer.recv.seen = std::min(early.seen, peer.recv.total);
    if (early.hole()) e.reply(id, e.numbers.current(), 0);
    // No data will acknowledge what came last in the exchange before, and its sender cannot end
    // this one without.
    if (peer.send.total == 0 && peer.owed_since != base::kNever) e.reply(id, peer.owed_exchange, 0);
    if (!Disputes::fits_early(peer.recv.total, early)) e.dispute(id, e.numbers.current());
    e.send_left += peer.send.total;
    e.recv_left += peer.recv.total;
  }
  return largest;
}

// `even`: all blocks have one size. `partners`: the most in a round.
void begin_window(Parts& e, base::Nanos now, bool even, std::uint64_t largest,
                  std::size_t partners) {
  e.symmetric = even && e.send_left == e.recv_left;
  std::uint32_t window = e.config.window_packets;
  const bool single = even && largest <= e.sizes.packet_bytes();
  if (single && e.config.single_window_packets > 0) {
    window = e.config.single_window_packets;
  } else if (even && e.send_left <= e.config.burst_packets) {
    window = std::max(window, e.config.burst_packets);
  }
  window = std::max(window, e.rounds->window_least);
  const std::uint64_t full = e.config.datagram_bytes + kFramingBytes;
  const std::uint64_t payload = std::min<std::uint64_t>(e.sizes.packet_bytes_of(largest), largest);
  const std::uint64_t frame = payload + wire::kHeaderBytes + kFramingBytes;
  e.frame_time =
      e.config.packet_time * static_cast<base::Nanos>(frame) / static_cast<base::Nanos>(full);
  const std::uint32_t grain = e.congestion.begin_trains(e.config.grain_packets);
  e.turns.set_lengths(grain, e.config.span_packets);
  const std::uint64_t train = std::clamp<std::uint64_t>(e.sizes.packets_of(largest), 1, grain);
  e.cycle_packets = std::max<std::uint64_t>(1, partners * train);
  if (now - e.released > e.config.yield_memory) {
    e.congestion.forget();
    e.pace.forget();
  }
  const double part = static_cast<double>(frame) / static_cast<double>(full);
  e.congestion.begin(now, window, e.cycle_packets, part,
                     single && e.config.single_window_packets > 0);
  base::Nanos packet_time = e.frame_time;
  if (e.pace.rules()) {
    packet_time = std::max(packet_time, e.pace.time_of(frame));
    e.pace.begin(now);
  }
  const std::uint64_t packets = std::max(e.send_left, e.recv_left);
  NominalTimes nominal{
      .cycle = static_cast<base::Nanos>(e.cycle_packets) * packet_time,
      .total = static_cast<base::Nanos>(packets) * packet_time + e.config.round_trip / 2,
      .cycles = std::max<std::uint64_t>(1, packets / e.cycle_packets)};
  if (e.rounds->steps > 0) {
    const std::uint64_t least = std::max<std::uint64_t>(1, packets);
    nominal.total = nominal.total / static_cast<base::Nanos>(least) *
                    static_cast<base::Nanos>(std::max(e.rounds->steps, least));
    nominal.cycles = std::max<std::uint64_t>(1, e.rounds->steps / e.cycle_packets);
  }
  e.delays.begin(now, nominal);
}

// What the file says of the window is wrong: it is sought from now on.
void seek_window(Parts& e) {
  assert(!e.numbers.running());
  Config& config = e.config;
  if (config.seeks_from > 0) return;
  ++e.counters.files_distrusted;
  config.seeks_from = std::max(config.window_packets, config.refuted_seeks_from);
  config.window_packets = std::max(config.window_packets, config.refuted_window_packets);
  config.single_window_packets = config.burst_packets = 0;
  if (config.paths == 1) {
    config.span_packets = std::clamp(config.window_packets, config.span_packets, kSpanMax);
  }
}

// Peers are farther away than the file says; what it says of rates may be right.
void distrust_trips(Parts& e) {
  Config& config = e.config;
  seek_window(e);
  config.idle_round_trip = e.seen_trips().answered;
  config.latency = config.idle_round_trip / 2;
  e.congestion = Congestion(config, e.numbers.entered());
}

void begin_parities(Parts& e, std::uint64_t largest) {
  if (!e.counts_losses()) return e.parities.end();
  const std::uint64_t payload = std::min<std::uint64_t>(e.sizes.packet_bytes_of(largest), largest);
  const bool allows =
      e.pace.rules() && !e.pace.slowed() && e.config.reliability == Reliability::kSelectiveRepeat;
  e.parities.begin(*e.rounds,
                   {.allows = allows,
                    .largest = e.sizes.packets_of(largest),
                    .packet_time = e.pace.time_of(payload + wire::kHeaderBytes + kFramingBytes),
                    .round_trip = e.config.round_trip},
                   e.peers);
}

}  // namespace

engine::Parts::Parts(const Config& with, PeerId own, std::uint32_t count)
    : config(with),
      self(own),
      peers(count),
      disputes(own, count),
      silence(with),
      rounds(&kNoRounds),
      congestion(with),
      pace(with),
      trips(count),
      sizes(with.datagram_bytes - wire::kHeaderBytes),
      steps(with.packet_time, with.round_trip,
            with.pace > 0 ? std::optional(with.pace_burst_packets) : std::nullopt),
      delays(with),
      asides(count),
      paths(with, own, count),
      attendance(count) {
  assert(with.datagram_bytes > wire::kHeaderBytes + wire::kAckBytesMax);
  assert(with.window_packets >= 1 && with.grain_packets >= 1);
  assert(with.retransmit_budget_packets >= 1);
  assert(own < count && count <= 65536);
}

void Engine::start(base::Nanos now, const Rounds& rounds, const BlockSizes& send,
                   const BlockSizes& recv, std::span<const std::uint8_t> withheld,
                   bool reports_arrivals) {
  assert(!parts_.numbers.running() && !parts_.abandoned);
  assert(rounds.send_begin.size() == rounds.recv_begin.size());
  assert(withheld.empty() || withheld.size() == parts_.peers.size());
  if (parts_.congestion.refutes_trips()) distrust_trips(parts_);
  parts_.numbers.enter();
  parts_.silence.begin(now);
  parts_.rounds = &rounds;
  parts_.sizes.begin(send, recv);
  parts_.clock.begin();
  parts_.probes.begin();
  parts_.disputes.begin();
  parts_.attendance.begin();
  parts_.early_bytes = 0;
  parts_.reports_arrivals = reports_arrivals;
  parts_.arrivals.clear();
  const std::uint64_t largest = begin_blocks(parts_, now, withheld);
  if (send.of(parts_.self) != recv.of(parts_.self)) {
    parts_.disputes.settle({parts_.self, parts_.self, send.of(parts_.self), recv.of(parts_.self)});
    return abandon(std::nullopt);
  }
  const std::size_t partners = parts_.turns.begin(rounds, withheld, parts_.peers);
  parts_.paths.begin(rounds, parts_.peers);
  // With uneven blocks a rank does not know how much others send to whom.
  begin_window(parts_, now, send.each.empty() && recv.each.empty(), largest, partners);
  parts_.trains.begin(rounds.trains, parts_.peers);
  begin_parities(parts_, largest);
  parts_.steps.begin(now, rounds, parts_.send_left);
  parts_.next_step_at = base::kNever;
  parts_.turns.enter(parts_.peers);
  parts_.timer_at(now + parts_.look_delay());
}

void Engine::distrust_file() {
  Config& config = parts_.config;
  if (config.refuted_window_packets == 0) return;
  seek_window(parts_);
  config.refuted_window_packets = 0;
  config.limit_time = config.latency = 0;
  config.knows_rate = false;
  // Interfaces of virtual machines tell any speed.
  const auto shortest = std::max(config.link_time, config.packet_time / Delays::kBears);
  if (config.link_time > 0) config.packet_time = std::min(config.packet_time, shortest);
  parts_.congestion = Congestion(config, parts_.numbers.entered());
  parts_.delays.guess_packets();
}

void Engine::make_ready(PeerId id) {
  Peer& peer = parts_.peers[id];
  if (!parts_.numbers.running() || !peer.withheld) return;
  peer.withheld = false;
  if (peer.send.exhausted()) return;  // an empty block
  parts_.trains.make_ready(id);
  parts_.turns.make_ready(id);
}

bool Engine::next(base::Nanos now, Emission* out) {
  if (parts_.abandoned) return engine::emit_notice(parts_, out);
  if (now >= parts_.next_timer) {
    parts_.next_timer = base::kNever;
    for (PeerId id = 0; id < parts_.peers.size(); ++id) {
      if (id != parts_.self) parts_.timer_at(engine::scan_peer(parts_, now, id));
    }
  }
  return engine::emit_ack(parts_, out) || engine::emit_elsewhere(parts_, out) ||
         engine::emit_resend(parts_, now, out) || engine::emit_probe(parts_, now, out) ||
         engine::emit_data(parts_, now, out);
}

Verdict Engine::on_packet(base::Nanos now, const wire::Header& header, std::uint64_t exchange,
                          std::uint32_t length, std::span<const std::byte> body) {
  const Verdict verdict = engine::receive(parts_, now, header, exchange, length, body);
  if (mismatch() && !parts_.abandoned) abandon(std::nullopt);
  return verdict;
}

bool Engine::take_arrival(PeerId* peer) {
  if (parts_.arrivals.empty()) return false;
  *peer = parts_.arrivals.take();
  return true;
}

void Engine::release(base::Nanos now) {
  assert(complete());
  // The time in which blocks were withheld tells nothing.
  if (!parts_.turns.withholds()) {
    // What losses cost is no reason to find out about the next one later.
    if (!parts_.congestion.lossy()) parts_.delays.measure_jitter(now);
    // A late rank that receives alone finds all of it here.
    if (parts_.symmetric) parts_.delays.measure_packets(now);
  }
  const bool equal = parts_.symmetric && !parts_.turns.withholds();
  parts_.congestion.end(now, parts_.seen_trips(),
                        equal ? std::optional(parts_.numbers.current()) : std::nullopt);
  parts_.released = now;
  parts_.trips.end(parts_.congestion.take_question());
  for (PeerId id = 0; id < parts_.peers.size(); ++id) {
    parts_.asides[id].tail = std::exchange(parts_.peers[id].send, {});
    parts_.peers[id].probe_of_tail = true;
  }
  parts_.paths.end();
  parts_.parities.end();
  parts_.sizes.end();
  parts_.tail_unacked = parts_.unacked;
  parts_.tail_resends = std::exchange(parts_.resends, 0);
  parts_.numbers.leave();
  parts_.rounds = &kNoRounds;
  parts_.turns.end();
  parts_.trains.end();
  parts_.steps.end();
  if (parts_.tail_unacked > 0 || parts_.acks.owing() > 0)
    parts_.timer_at(now + parts_.delays.cycle());
}

void Engine::abandon(std::optional<std::uint32_t> lost) {
  parts_.abandoned = true;
  parts_.lost = lost;
  parts_.numbers.leave();
  for (PeerId id = 0; id < parts_.peers.size(); ++id) {
    parts_.peers[id] = Peer{};
    parts_.asides[id] = Aside{};
  }
  parts_.paths.abandon();
  parts_.parities.end();
  parts_.disputes.abandon();
  parts_.attendance.abandon();
  parts_.rounds = &kNoRounds;
  parts_.sizes.forget();
  parts_.turns.abandon();
  parts_.trains.end();
  parts_.steps.end();
  parts_.arrivals.clear();
  parts_.acks.abandon();
  parts_.resend_queue.clear();
  parts_.probes.abandon();
  parts_.copies.clear();
  const bool tells = parts_.lost || mismatch();
  for (PeerId id = 0; tells && id < parts_.peers.size(); ++id) {
    if (id != parts_.self) parts_.reply(id, parts_.numbers.entered(), 0);
  }
  parts_.unacked = parts_.tail_unacked = parts_.send_left = parts_.recv_left = 0;
  parts_.resends = parts_.tail_resends = 0;
  parts_.next_timer = parts_.next_step_at = base::kNever;
}

}  // namespace alm::transport

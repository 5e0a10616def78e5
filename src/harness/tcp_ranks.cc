#include "harness/tcp_ranks.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "routing/routes.h"
#include "topology/cluster.h"

namespace alm::harness {

using base::kNever;
using sim::kNone;
using sim::Picos;

namespace {

constexpr std::uint32_t kIpTcpBytes = 52;  // IPv4 20, TCP 20, timestamps 12
constexpr std::uint32_t kSackBytes = 4;    // of the option, and 8 for each range
constexpr std::uint32_t kRangeBytes = 8;
constexpr std::uint32_t kClearBytes = 0;   // besides the header
constexpr std::uint32_t kManyRanks = 128;  // their state is larger than a cache
constexpr std::size_t kBytesPerEnd = 700;  // with its segments and messages, for estimates

}  // namespace

std::size_t TcpRanks::memory_estimate(std::size_t ranks) { return ranks * ranks * kBytesPerEnd; }

base::Result<std::unique_ptr<Program>> TcpRanks::make(const SimRequest& request) {
  TcpFlow flow = *request.tcp;
  const auto count = static_cast<std::uint32_t>(request.hosts.size());
  auto schedule = model::StockSchedule::make(flow.algorithm, count);
  if (!schedule) return schedule.error();
  if (schedule.value().combines() && (request.bytes_of || request.bytes_in)) {
    return base::bad_input(
        fmt::format("{} combines blocks, which must be equal", schedule.value().name()));
  }
  const topology::Framing& framing = request.cluster->framing;
  if (flow.config.segment_bytes == 0) flow.config.segment_bytes = framing.mtu_bytes - kIpTcpBytes;
  std::unique_ptr<TcpRanks> out(new TcpRanks(flow, std::move(schedule).value()));
  if (auto made = out->set_up_ranks(request, "TCP"); !made) return made.error();
  out->header_bytes_ = kIpTcpBytes + framing.link_header_bytes;
  out->parts_.resize(count);
  out->counts_.exchange_waits.assign(request.exchanges, 0);
  out->counts_.waiting_receivers.assign(request.exchanges, 0);
  out->ends_.reserve(count * std::size_t{count});
  for (std::size_t i = 0; i < count * std::size_t{count}; ++i) {
    out->ends_.emplace_back(out->flow_.config);
  }
  auto routes =
      routing::Routes::make(*request.cluster, request.network.rule, request.network.routes);
  if (!routes) return routes.error();
  out->establish(*request.cluster, routes.value());
  for (std::uint32_t rank = 0; rank < count; ++rank) {
    for (std::uint32_t number = 0; number < out->schedule_.rounds(); ++number) {
      out->messages_expected_ += out->schedule_.round(rank, number).receives.size();
    }
  }
  out->messages_expected_ *= request.exchanges;
  return std::unique_ptr<Program>(std::move(out));
}

// The handshake has measured the round trip of a small frame on an idle network.
void TcpRanks::establish(const topology::Cluster& cluster, const routing::Routes& routes) {
  for (std::uint32_t rank = 0; rank < ranks(); ++rank) {
    for (std::uint32_t peer = 0; peer < rank; ++peer) {
      const std::uint32_t label = routing::label(rule(), host_of(rank), host_of(peer), 0);
      double nanos = 0;
      for (const std::uint32_t port : routes.path(host_of(rank), host_of(peer), label)) {
        const topology::Link& link = cluster.links[port / 2];
        const double rate = port % 2 == 0 ? link.rate_up_mbit_s : link.rate_down_mbit_s;
        nanos += link.latency_us * 1000 + base::nanos_on_link(header_bytes_, rate);
      }
      const auto round_trip = std::max<base::Nanos>(1, std::llround(2 * nanos));
      end(rank, peer).connection.established(round_trip);
      end(peer, rank).connection.established(round_trip);
    }
  }
}

// ---- what the library posts --------------------------------------------------------------------

void TcpRanks::enter(std::uint32_t rank) {
  begin_visit(rank);
  parts_[rank].number = 0;
  begin_round(rank);
}

// Ranks that have nothing for each other send no message.
void TcpRanks::begin_round(std::uint32_t rank) {
  Rank& self = parts_[rank];
  self.round = schedule_.round(rank, self.number);
  self.next_send = self.next_receive = 0;
  const std::uint32_t exchange = exchange_of(rank);
  std::erase_if(self.round.sends, [&](const model::StockRound::Send& send) {
    return amount(exchange, rank, send.to) == 0;
  });
  std::erase_if(self.round.receives,
                [&](std::uint32_t from) { return amount(exchange, from, rank) == 0; });
}

void TcpRanks::post(std::uint32_t rank) {
  Rank& self = parts_[rank];
  const std::uint32_t window = schedule_.window() == 0 ? UINT32_MAX : schedule_.window();
  while (self.next_receive < self.round.receives.size() && self.receives < window) {
    post_receive(rank, self.round.receives[self.next_receive++]);
  }
  while (self.next_send < self.round.sends.size() && self.sends < window) {
    post_send(rank, self.round.sends[self.next_send++]);
  }
}

// Posts what may be posted, in this round and those after.
void TcpRanks::proceed(std::uint32_t rank, Picos now) {
  Rank& self = parts_[rank];
  while (is_inside(rank)) {
    post(rank);
    const bool posted = self.next_receive == self.round.receives.size() &&
                        self.next_send == self.round.sends.size();
    if (self.sends > 0 || self.receives > 0) return;
    if (!posted) continue;
    if (++self.number < schedule_.rounds()) {
      begin_round(rank);
    } else {
      end_visit(rank, now);
    }
  }
}

void TcpRanks::post_receive(std::uint32_t rank, std::uint32_t from) {
  End& mine = end(rank, from);
  if (mine.arrived > 0) {
    --mine.arrived;
    return;
  }
  ++parts_[rank].receives;
  if (schedule_.asks()) {
    ++mine.clearing;
    write(rank, from, kClearBytes, {.kind = Kind::kClear});
  } else if (mine.asking > 0) {
    --mine.asking;
    ++mine.clearing;
    write(rank, from, kClearBytes, {.kind = Kind::kClear});
  } else {
    ++mine.posted;
  }
}

void TcpRanks::post_send(std::uint32_t rank, const model::StockRound::Send& send) {
  const model::StockTransfer& transfer = schedule_.transfer();
  const std::uint64_t bytes = amount(exchange_of(rank), rank, send.to) * send.blocks;
  ++parts_[rank].sends;
  if (bytes <= transfer.eager_bytes) {
    write(rank, send.to, bytes, {.kind = Kind::kWhole});
  } else {
    write(rank, send.to, transfer.first_bytes,
          {.rest = bytes - transfer.first_bytes, .kind = Kind::kStart});
  }
}

void TcpRanks::write(std::uint32_t rank, std::uint32_t peer, std::uint64_t bytes,
                     const Message& message) {
  End& mine = end(rank, peer);
  mine.connection.write(bytes + schedule_.transfer().header_bytes);
  mine.written.push_back(message);
  mine.written.back().end = mine.connection.sender().written();
  offer(rank, peer);
  end_sends(rank, peer);
}

// ---- what comes of it --------------------------------------------------------------------------

// What has come in order, as messages.
void TcpRanks::read(std::uint32_t rank, std::uint32_t from) {
  End& theirs = end(from, rank);
  const tcp::Position received = end(rank, from).connection.receiver().received();
  while (theirs.read < theirs.written.size() && theirs.written[theirs.read].end <= received) {
    take(rank, from, theirs.written[theirs.read++]);
  }
}

void TcpRanks::take(std::uint32_t rank, std::uint32_t from, const Message& message) {
  End& mine = end(rank, from);
  switch (message.kind) {
    case Kind::kWhole:
      ++messages_came_;
      if (mine.posted > 0) {
        --mine.posted;
        --parts_[rank].receives;
      } else {
        ++mine.arrived;
      }
      break;
    case Kind::kStart:
      if (mine.posted > 0) {
        --mine.posted;
        ++mine.clearing;
        write(rank, from, kClearBytes, {.kind = Kind::kClear});
      } else {
        ++mine.asking;
      }
      break;
    case Kind::kClear: {
      if (schedule_.asks()) {
        const std::uint64_t bytes = amount(exchange_of(from), rank, from);
        write(rank, from, bytes, {.kind = Kind::kAnswer});
        break;
      }
      // The latest first part that is over: a rank has one long message to another at a time.
      std::uint64_t rest = 0;
      for (Message& one : mine.written) {
        if (one.kind == Kind::kStart && one.rest > 0) rest = std::exchange(one.rest, 0);
      }
      write(rank, from, rest, {.kind = Kind::kRest});
      break;
    }
    case Kind::kRest:
    case Kind::kAnswer:
      ++messages_came_;
      --mine.clearing;
      --parts_[rank].receives;
      break;
  }
}

void TcpRanks::end_sends(std::uint32_t rank, std::uint32_t peer) {
  End& mine = end(rank, peer);
  const tcp::Position held = mine.connection.sender().first_unacknowledged();
  while (mine.over < mine.written.size() &&
         mine.written[mine.over].end <= held + flow_.send_buffer_bytes) {
    const Message& message = mine.written[mine.over];
    if (message.kind == Kind::kStart && message.rest > 0) break;
    if (message.kind == Kind::kWhole || message.kind == Kind::kRest) --parts_[rank].sends;
    ++mine.over;
  }
  if (mine.over == mine.written.size() && mine.read == mine.written.size()) {
    mine.written.clear();
    mine.over = mine.read = 0;
  }
}

// ---- the link ----------------------------------------------------------------------------------

void TcpRanks::offer(std::uint32_t rank, std::uint32_t peer) {
  End& mine = end(rank, peer);
  if (!mine.queued && mine.connection.wants_to_send()) {
    mine.queued = true;
    parts_[rank].turns.push_back(peer);
  }
  arm(rank, peer);
}

bool TcpRanks::pull(std::uint32_t host, Picos now, std::uint32_t index, sim::Packet& packet) {
  const std::uint32_t rank = rank_on(host);
  if (rank == kNone) return false;
  while (is_due(rank, now)) {
    enter(rank);
    proceed(rank, now);
  }
  Rank& self = parts_[rank];
  while (!self.turns.empty()) {
    const std::uint32_t peer = self.turns.front();
    End& mine = end(rank, peer);
    if (!mine.connection.wants_to_send()) {
      mine.queued = false;
      self.turns.pop_front();
      self.sent_in_turn = 0;
      continue;
    }
    if (index >= cargo_.size()) cargo_.resize(index + index / 2 + 64);
    Cargo& cargo = cargo_[index];
    cargo.from = rank;
    cargo.to = peer;
    cargo.segment = mine.connection.next(sim::to_nanos(now));
    const tcp::Segment& segment = cargo.segment;
    if (segment.bytes == 0) ++acks_;
    if (++self.sent_in_turn >= flow_.turn_segments) {
      self.turns.pop_front();
      self.turns.push_back(peer);
      self.sent_in_turn = 0;
    }
    arm(rank, peer);
    packet.destination = host_of(peer);
    packet.flow = routing::label(rule(), host, packet.destination, 0);
    packet.bytes = segment.bytes + header_bytes_;
    if (segment.sack_count > 0) packet.bytes += kSackBytes + kRangeBytes * segment.sack_count;
    packet.label = segment.bytes == 0 ? kLabelAck : segment.resent ? kLabelResent : 0;
    return true;
  }
  return false;
}

void TcpRanks::receive(std::uint32_t, Picos now, std::uint32_t index, const sim::Packet&) {
  const Cargo& cargo = cargo_[index];
  const std::uint32_t rank = cargo.to, from = cargo.from;
  End& mine = end(rank, from);
  if (cargo.segment.marked && cargo.segment.bytes > 0) ++counts_.marked;
  mine.connection.received(cargo.segment, sim::to_nanos(now));
  if (cargo.segment.bytes > 0) read(rank, from);
  end_sends(rank, from);
  offer(rank, from);
  proceed(rank, now);
}

void TcpRanks::marked(std::uint32_t index) {
  tcp::Segment& segment = cargo_[index].segment;
  if (segment.wants_marks) segment.marked = true;
}

// ---- timers ------------------------------------------------------------------------------------

// One entry in the heap is of use: deadlines that move later cost nothing until it comes.
void TcpRanks::arm(std::uint32_t rank, std::uint32_t peer) {
  End& mine = end(rank, peer);
  const base::Nanos when = mine.connection.deadline();
  if (when >= mine.timer_at) return;
  mine.timer_at = when;
  auto& timers = parts_[rank].timers;
  timers.emplace_back(when, peer);
  std::push_heap(timers.begin(), timers.end(), std::greater<>());
}

Picos TcpRanks::deadline(std::uint32_t host) const {
  const Picos visit = MessageProgram::deadline(host);
  const std::uint32_t rank = rank_on(host);
  if (rank == kNone || parts_[rank].timers.empty()) return visit;
  return std::min(visit, sim::from_nanos(parts_[rank].timers.front().first));
}

void TcpRanks::timer(std::uint32_t host, Picos picos) {
  const std::uint32_t rank = rank_on(host);
  if (rank == kNone) return;
  const base::Nanos now = sim::to_nanos(picos);
  auto& timers = parts_[rank].timers;
  while (!timers.empty() && timers.front().first <= now) {
    const auto [when, peer] = timers.front();
    std::pop_heap(timers.begin(), timers.end(), std::greater<>());
    timers.pop_back();
    End& mine = end(rank, peer);
    if (mine.timer_at != when) continue;  // an earlier one was set meanwhile
    mine.timer_at = kNever;
    if (mine.connection.deadline() <= now) {
      const std::uint32_t before = mine.connection.sender().counters().waits;
      mine.connection.on_timer(now);
      if (mine.connection.sender().counters().waits > before) count_wait(rank, peer);
    }
    offer(rank, peer);
  }
}

void TcpRanks::count_wait(std::uint32_t rank, std::uint32_t peer) {
  const std::uint32_t exchange = exchange_of(rank);
  ++counts_.exchange_waits[exchange];
  if (parts_[peer].waited_in == exchange + 1) return;
  parts_[peer].waited_in = exchange + 1;
  ++counts_.waiting_receivers[exchange];
}

// ---- results -----------------------------------------------------------------------------------

bool TcpRanks::outgrows_cache() const { return ranks() >= kManyRanks; }

void TcpRanks::expect(std::uint32_t index, sim::Nearness nearness) const {
  if (index >= cargo_.size()) return;
  const Cargo& cargo = cargo_[index];
  if (nearness == sim::Nearness::kFar) {
    __builtin_prefetch(&cargo);
    return;
  }
  if (nearness != sim::Nearness::kNext) return;
  const auto* state =
      reinterpret_cast<const char*>(&ends_[cargo.to * std::size_t{ranks()} + cargo.from]);
  constexpr std::size_t kLine = 64;
  for (std::size_t at = 0; at < sizeof(End); at += kLine) __builtin_prefetch(state + at);
}

void TcpRanks::fill(SimResult& result) const {
  fill_times(result);
  result.tcp = counts_;
  for (const End& one : ends_) {
    const tcp::Sender::Counters& counters = one.connection.sender().counters();
    result.counters.data_sent += counters.segments - counters.resent;
    result.counters.data_retransmitted += counters.resent;
    result.counters.duplicates_received += one.connection.receiver().duplicates();
    result.tcp.timeouts += counters.timeouts;
    result.tcp.waits += counters.waits;
    result.tcp.probes += counters.probes;
    result.tcp.cuts += counters.cuts;
  }
  result.counters.acks_sent = acks_;
  result.packets = result.counters.data_sent + result.counters.data_retransmitted + acks_;
}

std::size_t TcpRanks::bytes() const {
  std::size_t sum = ends_.capacity() * sizeof(End) + cargo_.capacity() * sizeof(Cargo);
  for (const End& one : ends_) {
    sum += one.connection.sender().outstanding().bytes() + one.written.capacity() * sizeof(Message);
  }
  for (const Rank& rank : parts_) {
    sum += rank.timers.capacity() * sizeof(rank.timers.front()) +
           rank.turns.size() * sizeof(std::uint32_t);
  }
  return sum;
}

}  // namespace alm::harness

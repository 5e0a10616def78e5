#include "harness/ranks.h"

#include <fmt/core.h>

#include <algorithm>

namespace alm::harness {

using sim::Picos;

namespace {

constexpr std::uint64_t kPacketsMax = kLabelResent - 1;  // of a block; labels hold their numbers

}  // namespace

base::Result<std::unique_ptr<Ranks>> Ranks::make(const SimRequest& request) {
  std::unique_ptr<Ranks> out(new Ranks);
  const auto count = static_cast<std::uint32_t>(request.hosts.size());
  out->bytes_ = request.bytes;
  out->overhead_bytes_ = request.overhead_bytes;
  out->exchanges_ = request.exchanges;
  out->jitter_ = request.jitter;
  out->random_ = sim::Random(request.jitter.seed);
  out->exchange_end_.assign(request.exchanges, 0);
  out->source_routes_ = request.network.rule == routing::Rule::kSource;
  out->rank_of_.assign(request.cluster->host_count(), sim::kNone);
  out->ranks_.reserve(count);
  for (std::uint32_t rank = 0; rank < count; ++rank) {
    const std::uint32_t host = request.hosts[rank].value;
    if (out->rank_of_[host] != sim::kNone) {
      return base::bad_input(fmt::format("host `{}` takes part twice; expected each host once",
                                         request.cluster->hosts[host].name));
    }
    out->rank_of_[host] = rank;
    out->host_of_.push_back(host);
    Rank& made = out->ranks_.emplace_back(request.config(rank), rank, count);
    auto rounds = request.rounds(rank);
    if (!rounds) return rounds.error();
    made.rounds = std::move(rounds).value();
    made.starts_at = out->late();
    if (request.bytes_of) {
      for (std::uint32_t peer = 0; peer < count; ++peer) {
        made.send_bytes.push_back(request.bytes_of(rank, peer));
        made.recv_bytes.push_back(request.bytes_of(peer, rank));
      }
    }
    for (std::uint32_t peer = 0; peer < count; ++peer) {
      if (peer == rank) continue;
      const std::uint64_t bytes = request.bytes_of ? made.recv_bytes[peer] : request.bytes;
      if (bytes / made.engine.packet_bytes() >= kPacketsMax) {
        return base::bad_input(
            fmt::format("{} bytes per pair are too many packets; at most {} are "
                        "possible",
                        bytes, kPacketsMax));
      }
      out->data_expected_ += made.engine.packets_of(bytes) * std::uint64_t{request.exchanges};
    }
  }
  return out;
}

Picos Ranks::late() { return jitter_.mean > 0 ? random_.exponential(jitter_.mean) : 0; }

void Ranks::enter(std::uint32_t rank, Picos now) {
  Rank& self = ranks_[rank];
  self.starts_at = sim::kNever;
  ++self.entered;
  self.engine.start(sim::to_nanos(now), self.rounds, {bytes_, self.send_bytes},
                    {bytes_, self.recv_bytes});
  for (const Held& held : self.held) self.engine.replay(held.peer, held.packet, held.length);
  self.held.clear();
}

void Ranks::finish(std::uint32_t rank, Picos now) {
  Rank& self = ranks_[rank];
  self.engine.release(sim::to_nanos(now));
  self.ended = now;
  Picos& end = exchange_end_[self.entered - 1];
  end = std::max(end, now);
  if (self.entered == exchanges_) {
    ++ranks_done_;
  } else {
    self.starts_at = now + late();
  }
}

bool Ranks::pull(std::uint32_t host, Picos now, std::uint32_t index, sim::Packet& packet) {
  const std::uint32_t rank = rank_of_[host];
  if (rank == sim::kNone) return false;
  Rank& self = ranks_[rank];
  // A rank without anything to send or to receive is complete at once.
  while (self.starts_at <= now) {
    enter(rank, now);
    if (self.engine.complete()) finish(rank, now);
  }
  const std::uint64_t resent_before = self.engine.counters().data_retransmitted;
  if (!self.engine.next(sim::to_nanos(now), &emission_)) {
    if (self.engine.complete()) finish(rank, now);
    return false;
  }
  if (index >= cargo_.size()) {
    cargo_.resize(index + index / 2 + 64);
    control_.resize(cargo_.size());
  }
  const bool resent = self.engine.counters().data_retransmitted != resent_before;
  Cargo& cargo = cargo_[index];
  cargo.header = emission_.header;
  cargo.header.source = static_cast<std::uint16_t>(rank);
  cargo.length = emission_.length;
  cargo.control_bytes = emission_.control_bytes;
  if (emission_.control_bytes > 0) control_[index] = emission_.control;

  packet.destination = host_of_[emission_.peer];
  // Path 0 of a sender that chooses is that of destination tables.
  packet.flow = source_routes_
                    ? packet.destination + emission_.header.path
                    : routing::flow_hash(host, packet.destination, emission_.header.path);
  packet.bytes = static_cast<std::uint32_t>(wire::kHeaderBytes) + emission_.length +
                 emission_.control_bytes + overhead_bytes_;
  ++packets_;
  if (emission_.header.type == wire::Type::kData) {
    packet.label = emission_.header.packet | (resent ? kLabelResent : 0);
  } else {
    packet.label = emission_.header.type == wire::Type::kAck ? kLabelAck : kLabelProbe;
  }
  // The last packet may be what completes the exchange.
  if (self.engine.complete()) finish(rank, now);
  return true;
}

void Ranks::receive(std::uint32_t host, Picos now, std::uint32_t index, const sim::Packet&) {
  const std::uint32_t rank = rank_of_[host];
  Rank& self = ranks_[rank];
  const Cargo& cargo = cargo_[index];
  const std::uint64_t exchange = self.engine.expand(cargo.header.exchange);
  const auto verdict = self.engine.on_packet(
      sim::to_nanos(now), cargo.header, exchange, cargo.length,
      std::span<const std::byte>(control_[index].data(), cargo.control_bytes));
  if (verdict == transport::Verdict::kHold) {
    self.held.push_back({cargo.header.source, cargo.header.packet, cargo.length});
  }
  if (self.engine.complete()) finish(rank, now);
}

void Ranks::timer(std::uint32_t host, Picos now) {
  const std::uint32_t rank = rank_of_[host];
  Rank& self = ranks_[rank];
  while (const auto silent = self.engine.check_peers(sim::to_nanos(now))) {
    if (!silent->fatal) continue;
    failure_ = silent;
    failed_rank_ = rank;
    return;
  }
}

Picos Ranks::deadline(std::uint32_t host) const {
  const std::uint32_t rank = rank_of_[host];
  if (rank == sim::kNone) return sim::kNever;
  const Rank& self = ranks_[rank];
  return std::min(self.starts_at, sim::from_nanos(self.engine.deadline()));
}

double Ranks::progress() const {
  std::uint64_t received = 0;
  for (const Rank& rank : ranks_) received += rank.engine.counters().data_received;
  if (data_expected_ == 0) return 1;
  return static_cast<double>(received) / static_cast<double>(data_expected_);
}

void Ranks::fill(SimResult& result) const {
  Picos before = 0;
  for (const Picos end : exchange_end_) {
    result.exchange_time.push_back(end - before);
    before = end;
  }
  for (const Rank& rank : ranks_) {
    result.rank_end.push_back(rank.ended);
    result.counters += rank.engine.counters();
  }
  result.packets = packets_;
}

std::size_t Ranks::bytes() const {
  std::size_t sum = cargo_.capacity() * sizeof(Cargo) + control_.capacity() * sizeof(Control);
  for (const Rank& rank : ranks_) {
    sum += rank.engine.memory_bytes();
    sum += (rank.rounds.send.capacity() + rank.rounds.recv.capacity() +
            rank.rounds.send_begin.capacity() + rank.rounds.recv_begin.capacity()) *
           sizeof(std::uint32_t);
    sum += (rank.send_bytes.capacity() + rank.recv_bytes.capacity()) * sizeof(std::uint64_t);
  }
  return sum;
}

}  // namespace alm::harness

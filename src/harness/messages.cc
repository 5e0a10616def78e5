#include "harness/messages.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <numeric>

#include "wire/header.h"

namespace alm::harness {

using sim::kNone;
using sim::Picos;

namespace {

base::Status check_messages(const SimRequest& request) {
  for (const topology::Switch& node : request.cluster->switches) {
    if (node.flow_control == topology::FlowControl::kBackPressure) continue;
    return base::bad_input(
        fmt::format("switch `{}` drops what it cannot hold, and messages are not sent again; "
                    "expected flow_control = \"back-pressure\" on all switches",
                    node.name));
  }
  if (request.bytes_of) return base::bad_input("over messages all blocks have one size");
  return {};
}

base::Status check(const plan::Plan& plan) {
  if (plan.phases.size() == 1 && plan.phases.front().direct()) return {};
  return base::bad_input("over messages only plans of one phase are simulated, one rank per host");
}

}  // namespace

base::Result<std::unique_ptr<Program>> MessageRanks::make(const SimRequest& request) {
  if (auto checked = check_messages(request); !checked) return checked.error();
  std::unique_ptr<MessageRanks> out(new MessageRanks);
  const auto count = static_cast<std::uint32_t>(request.hosts.size());
  out->flow_ = *request.messages;
  out->bytes_ = request.bytes;
  out->packet_bytes_ =
      request.config(0).datagram_bytes - static_cast<std::uint32_t>(wire::kHeaderBytes);
  out->overhead_bytes_ = static_cast<std::uint32_t>(wire::kHeaderBytes) + request.overhead_bytes;
  out->exchanges_ = request.exchanges;
  out->jitter_ = request.jitter;
  out->random_ = sim::Random(request.jitter.seed);
  out->exchange_end_.assign(request.exchanges, 0);
  out->rule_ = request.network.rule;
  out->rank_on_.assign(request.cluster->host_count(), kNone);
  for (std::uint32_t rank = 0; rank < count; ++rank) {
    const std::uint32_t host = request.hosts[rank].value;
    if (out->rank_on_[host] != kNone) {
      return base::bad_input("over messages every host has one rank");
    }
    out->rank_on_[host] = rank;
    out->host_of_.push_back(host);
    auto plan = request.plan(rank);
    if (!plan) return plan.error();
    if (auto checked = check(plan.value()); !checked) return checked.error();
    Rank& made = out->ranks_.emplace_back();
    made.plan = std::move(plan).value();
    made.receives.assign(count, kNone);
    const base::Rounds& rounds = out->rounds(made);
    for (std::uint32_t i = 0; i < rounds.recv.size(); ++i) made.receives[rounds.recv[i]] = i;
    made.ahead.assign(count, 0);
    made.came.assign(count, 0);
    made.posted_to.assign(count, 0);
    made.starts_at = out->late();
    out->messages_expected_ += rounds.recv.size() * out->chunks() * request.exchanges;
  }
  return std::unique_ptr<Program>(std::move(out));
}

Picos MessageRanks::late() { return jitter_.mean > 0 ? random_.exponential(jitter_.mean) : 0; }

// As transport/io/mpi_p2p.h cuts them: the last one is short, so that a receiver knows it.
std::uint64_t MessageRanks::chunks() const {
  if (bytes_ == 0) return 0;
  return flow_.chunk_bytes == 0 ? 1 : bytes_ / flow_.chunk_bytes + 1;
}

void MessageRanks::enter(std::uint32_t rank) {
  Rank& self = ranks_[rank];
  const base::Rounds& order = rounds(self);
  self.starts_at = sim::kNever;
  ++self.entered;
  self.turns.start(order, std::vector<std::uint64_t>(order.send.size(), chunks()),
                   order.recv.size() * chunks(), 0);
  for (std::uint32_t i = 0; i < order.recv.size(); ++i) {
    const base::PeerId peer = order.recv[i];
    self.came[peer] = 0;
    if (bytes_ == 0) self.turns.whole(i);
    for (; self.ahead[peer] > 0; --self.ahead[peer]) take(self, peer);
  }
}

void MessageRanks::take(Rank& rank, base::PeerId from) {
  rank.turns.came();
  if (++rank.came[from] == chunks()) rank.turns.whole(rank.receives[from]);
}

void MessageRanks::post(Rank& rank) {
  const base::Rounds& order = rounds(rank);
  while (rank.turns.anything_left() &&
         (flow_.outstanding == 0 || rank.under_way < flow_.outstanding)) {
    const auto turn = rank.turns.next();
    if (!turn) return;
    const std::uint64_t chunk = flow_.chunk_bytes == 0 ? bytes_ : flow_.chunk_bytes;
    rank.posted.push_back({.to = order.send[turn->send],
                           .bytes = std::min(chunk, bytes_ - turn->chunk * chunk),
                           .number = rank.posted_to[order.send[turn->send]]++});
    ++rank.under_way;
  }
}

// Posts what may be posted, in this round and those after.
void MessageRanks::proceed(std::uint32_t rank, Picos now) {
  Rank& self = ranks_[rank];
  if (self.starts_at != sim::kNever) return;
  post(self);
  while (self.under_way == 0 && !self.turns.over() && self.turns.end_round()) {
    if (!self.turns.over()) post(self);
  }
  if (!self.turns.over()) return;
  self.ended = now;
  Picos& end = exchange_end_[self.entered - 1];
  end = std::max(end, now);
  if (self.entered == exchanges_) {
    ++ranks_done_;
    self.starts_at = kOver;
  } else {
    self.starts_at = now + late();
  }
}

bool MessageRanks::pull(std::uint32_t host, Picos now, std::uint32_t index, sim::Packet& packet) {
  const std::uint32_t rank = rank_on_[host];
  if (rank == kNone) return false;
  Rank& self = ranks_[rank];
  while (self.starts_at <= now) {
    enter(rank);
    proceed(rank, now);
  }
  if (index >= cargo_.size()) cargo_.resize(index + index / 2 + 64);
  Cargo& cargo = cargo_[index];
  std::uint32_t payload = 0, number = 0;
  if (!self.acks.empty()) {
    cargo = {rank, self.acks.front(), Part::kAck};
    self.acks.pop_front();
    ++acks_;
  } else if (!self.posted.empty()) {
    Message& message = self.posted.front();
    payload = static_cast<std::uint32_t>(std::min<std::uint64_t>(packet_bytes_, message.bytes));
    if (routing::chooses_per_message(rule_)) number = message.number;
    message.bytes -= payload;
    cargo = {rank, message.to, message.bytes == 0 ? Part::kLast : Part::kMiddle};
    ++data_packets_;
    if (message.bytes > 0 && flow_.by_turns) self.posted.push_back(message);
    if (message.bytes == 0 || flow_.by_turns) self.posted.pop_front();
  } else {
    return false;
  }
  packet.destination = host_of_[cargo.to];
  packet.flow = routing::label(rule_, host, packet.destination, number);
  packet.bytes = payload + overhead_bytes_;
  packet.label = cargo.part == Part::kAck ? kLabelAck : 0;
  return true;
}

void MessageRanks::receive(std::uint32_t, Picos now, std::uint32_t index, const sim::Packet&) {
  const Cargo cargo = cargo_[index];
  Rank& self = ranks_[cargo.to];
  switch (cargo.part) {
    case Part::kMiddle:
      return;
    case Part::kAck:
      --self.under_way;
      break;
    case Part::kLast: {
      self.acks.push_back(cargo.from);
      ++messages_came_;
      const bool inside = self.starts_at == sim::kNever && self.came[cargo.from] < chunks();
      if (inside) {
        take(self, cargo.from);
      } else {
        ++self.ahead[cargo.from];
      }
      break;
    }
  }
  proceed(cargo.to, now);
}

Picos MessageRanks::deadline(std::uint32_t host) const {
  const std::uint32_t rank = rank_on_[host];
  if (rank == kNone || ranks_[rank].starts_at == kOver) return sim::kNever;
  return ranks_[rank].starts_at;
}

double MessageRanks::progress() const {
  if (messages_expected_ == 0) return 1;
  return static_cast<double>(messages_came_) / static_cast<double>(messages_expected_);
}

void MessageRanks::fill(SimResult& result) const {
  std::adjacent_difference(exchange_end_.begin(), exchange_end_.end(),
                           std::back_inserter(result.exchange_time));
  for (const Rank& rank : ranks_) result.rank_end.push_back(rank.ended);
  result.packets = data_packets_ + acks_;
  result.counters.data_sent = data_packets_;
  result.counters.data_received = data_packets_;
  result.counters.acks_sent = acks_;
}

std::size_t MessageRanks::bytes() const {
  std::size_t sum = cargo_.capacity() * sizeof(Cargo);
  for (const Rank& rank : ranks_) {
    sum += sizeof(Rank) + rank.receives.capacity() * (2 * sizeof(std::uint32_t)) +
           rank.came.capacity() * sizeof(std::uint64_t);
  }
  return sum;
}

}  // namespace alm::harness

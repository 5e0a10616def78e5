#include "harness/messages.h"

#include <algorithm>
#include <utility>

namespace alm::harness {

using sim::kNone;
using sim::Picos;

base::Result<std::unique_ptr<Program>> MessageRanks::make(const SimRequest& request) {
  std::unique_ptr<MessageRanks> out(new MessageRanks);
  if (auto made = out->set_up(request, "messages"); !made) return made.error();
  out->flow_ = *request.messages;
  const auto count = static_cast<std::uint32_t>(request.hosts.size());
  for (std::uint32_t rank = 0; rank < count; ++rank) {
    Rank& made = out->ranks_.emplace_back();
    made.receives.assign(count, kNone);
    made.ahead.assign(count, 0);
    made.to_come.assign(count, 0);
    made.posted_to.assign(count, 0);
    const auto& from = out->rounds(rank).recv;
    for (std::uint32_t i = 0; i < from.size(); ++i) {
      made.receives[from[i]] = i;
      for (std::uint32_t exchange = 0; exchange < request.exchanges; ++exchange) {
        out->messages_expected_ += out->chunks(out->amount(exchange, from[i], rank));
      }
    }
  }
  return std::unique_ptr<Program>(std::move(out));
}

// As messages/io/mpi_p2p.h cuts them: the last one is short, so that a receiver knows it.
std::uint64_t MessageRanks::chunks(std::uint64_t bytes) const {
  if (bytes == 0) return 0;
  return flow_.chunk_bytes == 0 ? 1 : bytes / flow_.chunk_bytes + 1;
}

void MessageRanks::enter(std::uint32_t rank) {
  begin_visit(rank);
  Rank& self = ranks_[rank];
  const base::Rounds& order = rounds(rank);
  const std::uint32_t exchange = exchange_of(rank);
  std::vector<std::uint64_t> to_send;
  for (const base::PeerId peer : order.send) {
    to_send.push_back(chunks(amount(exchange, rank, peer)));
  }
  std::uint64_t to_come = 0;
  for (const base::PeerId peer : order.recv) {
    self.to_come[peer] = chunks(amount(exchange, peer, rank));
    to_come += self.to_come[peer];
  }
  self.turns.start(order, std::move(to_send), to_come, 0);
  for (std::uint32_t i = 0; i < order.recv.size(); ++i) {
    const base::PeerId peer = order.recv[i];
    if (self.to_come[peer] == 0) self.turns.whole(i);
    for (; self.ahead[peer] > 0 && self.to_come[peer] > 0; --self.ahead[peer]) take(rank, peer);
  }
}

void MessageRanks::take(std::uint32_t rank, base::PeerId from) {
  Rank& self = ranks_[rank];
  self.turns.came();
  if (--self.to_come[from] == 0) self.turns.whole(self.receives[from]);
}

void MessageRanks::post(std::uint32_t rank) {
  Rank& self = ranks_[rank];
  const base::Rounds& order = rounds(rank);
  while (self.turns.anything_left() &&
         (flow_.outstanding == 0 || self.under_way < flow_.outstanding)) {
    const auto turn = self.turns.next();
    if (!turn) return;
    const base::PeerId to = order.send[turn->send];
    const std::uint64_t bytes = amount(exchange_of(rank), rank, to);
    const std::uint64_t chunk = flow_.chunk_bytes == 0 ? bytes : flow_.chunk_bytes;
    self.posted.push_back({.to = to,
                           .bytes = std::min(chunk, bytes - turn->chunk * chunk),
                           .number = self.posted_to[to]++});
    ++self.under_way;
  }
}

// Posts what may be posted, in this round and those after.
void MessageRanks::proceed(std::uint32_t rank, Picos now) {
  Rank& self = ranks_[rank];
  if (!is_inside(rank)) return;
  post(rank);
  while (self.under_way == 0 && !self.turns.over() && self.turns.end_round()) {
    if (!self.turns.over()) post(rank);
  }
  if (self.turns.over()) end_visit(rank, now);
}

bool MessageRanks::pull(std::uint32_t host, Picos now, std::uint32_t index, sim::Packet& packet) {
  const std::uint32_t rank = rank_on(host);
  if (rank == kNone) return false;
  Rank& self = ranks_[rank];
  while (is_due(rank, now)) {
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
    payload = static_cast<std::uint32_t>(std::min<std::uint64_t>(packet_bytes(), message.bytes));
    if (routing::chooses_per_message(rule())) number = message.number;
    message.bytes -= payload;
    cargo = {rank, message.to, message.bytes == 0 ? Part::kLast : Part::kMiddle};
    ++data_packets_;
    if (message.bytes > 0 && flow_.by_turns) self.posted.push_back(message);
    if (message.bytes == 0 || flow_.by_turns) self.posted.pop_front();
  } else {
    return false;
  }
  address(packet, rank, cargo.to, number, payload);
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
      if (is_inside(cargo.to) && self.to_come[cargo.from] > 0) {
        take(cargo.to, cargo.from);
      } else {
        ++self.ahead[cargo.from];
      }
      break;
    }
  }
  proceed(cargo.to, now);
}

void MessageRanks::fill(SimResult& result) const {
  fill_times(result);
  result.packets = data_packets_ + acks_;
  result.counters.data_sent = data_packets_;
  result.counters.data_received = data_packets_;
  result.counters.acks_sent = acks_;
}

std::size_t MessageRanks::bytes() const {
  std::size_t sum = cargo_.capacity() * sizeof(Cargo);
  for (const Rank& rank : ranks_) {
    sum += sizeof(Rank) + rank.receives.capacity() * (3 * sizeof(std::uint32_t)) +
           rank.to_come.capacity() * sizeof(std::uint64_t);
  }
  return sum;
}

}  // namespace alm::harness

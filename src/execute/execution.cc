#include "execute/execution.h"

#include <algorithm>
#include <cstring>
#include <functional>

namespace alm::execute {
namespace {

using plan::Move;
using plan::Phase;

// Distances from the lowest of some addresses; null stands for nothing to send or to receive.
template <class Byte>
Byte* measure(const std::vector<Byte*>& addresses, std::vector<std::uint64_t>& at) {
  Byte* lowest = nullptr;
  for (Byte* address : addresses) {
    if (address != nullptr && (lowest == nullptr || std::less<>{}(address, lowest))) {
      lowest = address;
    }
  }
  at.resize(addresses.size());
  std::transform(addresses.begin(), addresses.end(), at.begin(), [lowest](Byte* address) {
    return address == nullptr ? 0 : static_cast<std::uint64_t>(address - lowest);
  });
  return lowest;
}

bool is_alone(const std::vector<std::uint32_t>& begin, std::size_t message) {
  return begin[message + 1] - begin[message] == 1;
}

}  // namespace

// Peers are ranks, all of them, and each message is the block for it.
bool Execution::goes_straight(std::size_t phase) const {
  return plan().phases.size() == 1 && plan().phases[phase].direct() &&
         plan().phases[phase].members.empty();
}

base::Status Execution::run(Carrier& carrier, const transport::ConstBlocks& send,
                            const transport::MutableBlocks& recv, const Amounts& amounts,
                            const base::Rounds* rounds) {
  send_ = send;
  recv_ = recv;
  amounts_ = amounts;
  course_.begin(amounts);
  while (true) {
    while (const auto phase = course_.next_start()) {
      if (auto started = carrier.start(*phase, prepare(*phase, rounds)); !started) return started;
    }
    if (course_.done()) return {};
    const auto event = carrier.await();
    if (!event) return event.error();
    const auto [phase, arrived] = event.value();
    if (!arrived) {
      course_.completed(phase);
      take_apart(phase);
      continue;
    }
    ready_.clear();
    course_.arrived(phase, *arrived, ready_);
    for (const auto& free : ready_) {
      put_together(free.phase, phases_[free.phase].message_to[free.peer]);
      carrier.make_ready(free.phase, free.peer);
    }
  }
}

const transport::Exchange& Execution::prepare(std::size_t p, const base::Rounds* rounds) {
  const Phase& phase = plan().phases[p];
  Buffers& buffers = phases_[p];
  transport::Exchange& exchange = buffers.exchange;
  exchange = {};
  exchange.rounds = rounds != nullptr ? rounds : &phase.rounds;
  if (goes_straight(p)) {
    exchange.send = send_;
    exchange.recv = recv_;
    return exchange;
  }
  lay_out(p);
  address(p);
  exchange.send.displacement = buffers.send_at;
  exchange.recv.displacement = buffers.recv_at;
  if (const auto bytes = course_.uniform_bytes(p)) {
    exchange.send.bytes = exchange.recv.bytes = *bytes;
  } else {
    exchange.send.size = course_.send_bytes(p);
    exchange.recv.size = course_.receive_bytes(p);
  }
  exchange.withheld = course_.withheld(p);
  exchange.reports_arrivals = course_.feeds_later_phases(p);
  for (std::size_t i = 0; i < phase.rounds.send.size(); ++i) {
    const bool waits = !exchange.withheld.empty() && exchange.withheld[phase.rounds.send[i]] != 0;
    if (!waits) put_together(p, i);
  }
  return exchange;
}

// Messages lie one after the other, with room for all.
void Execution::lay_out(std::size_t p) {
  const Phase& phase = plan().phases[p];
  Buffers& buffers = phases_[p];
  buffers.message_to.resize(course_.send_bytes(p).size());
  for (std::uint32_t i = 0; i < phase.rounds.send.size(); ++i) {
    buffers.message_to[phase.rounds.send[i]] = i;
  }
  const auto places = [&](const std::vector<Move>& moves, std::vector<std::uint64_t>& at) {
    std::uint64_t end = 0;
    at.clear();
    for (const Move& move : moves) {
      at.push_back(end);
      end += bytes_of(plan(), amounts_, move);
    }
    at.push_back(end);
    return end;
  };
  buffers.out = buffers.out_store.reserve(places(phase.out, buffers.out_at));
  buffers.in = buffers.in_store.reserve(places(phase.in, buffers.in_at));
}

void Execution::address(std::size_t p) {
  const Phase& phase = plan().phases[p];
  Buffers& buffers = phases_[p];
  const auto send_bytes = course_.send_bytes(p);
  const auto receive_bytes = course_.receive_bytes(p);
  Move direct;
  std::vector<const std::byte*> from(send_bytes.size());
  std::vector<std::byte*> to(receive_bytes.size());
  for (std::size_t i = 0; i < phase.rounds.send.size(); ++i) {
    const base::PeerId peer = phase.rounds.send[i];
    if (send_bytes[peer] == 0) continue;
    if (phase.direct()) {
      from[peer] = send_.at(phase.sends(i, direct).front().destination.value);
    } else {
      const std::uint32_t first = phase.out_begin[i];
      from[peer] =
          is_alone(phase.out_begin, i) ? source(p, first) : buffers.out + buffers.out_at[first];
    }
  }
  for (std::size_t i = 0; i < phase.rounds.recv.size(); ++i) {
    const base::PeerId peer = phase.rounds.recv[i];
    if (receive_bytes[peer] == 0) continue;
    const auto moves = phase.receives(i, direct);
    const Move& first = moves.front();
    if (moves.size() == 1 && first.destination == plan().self) {
      to[peer] = recv_.at(first.origin.value) + first.offset;
    } else {
      to[peer] = buffers.in + buffers.in_at[phase.in_begin[i]];
    }
  }
  buffers.exchange.send.base = measure(from, buffers.send_at);
  buffers.exchange.recv.base = measure(to, buffers.recv_at);
}

const std::byte* Execution::source(std::size_t p, std::size_t move) const {
  const Move& wanted = plan().phases[p].out[move];
  const Course::Source from = course_.source(p, move);
  if (from.phase == Course::Source::kSelf) {
    return send_.at(wanted.destination.value) + wanted.offset;
  }
  const Buffers& held = phases_[from.phase];
  return held.in + held.in_at[from.move];
}

void Execution::put_together(std::size_t p, std::size_t message) {
  const Phase& phase = plan().phases[p];
  if (phase.direct() || is_alone(phase.out_begin, message)) return;
  const Buffers& buffers = phases_[p];
  for (std::size_t m = phase.out_begin[message]; m < phase.out_begin[message + 1]; ++m) {
    const std::uint64_t bytes = buffers.out_at[m + 1] - buffers.out_at[m];
    if (bytes > 0) std::memcpy(buffers.out + buffers.out_at[m], source(p, m), bytes);
  }
}

void Execution::take_apart(std::size_t p) {
  const Phase& phase = plan().phases[p];
  if (phase.direct()) return;
  const Buffers& buffers = phases_[p];
  for (std::size_t i = 0; i + 1 < phase.in_begin.size(); ++i) {
    if (is_alone(phase.in_begin, i)) continue;  // in its place already, or to be sent on
    for (std::size_t m = phase.in_begin[i]; m < phase.in_begin[i + 1]; ++m) {
      const Move& move = phase.in[m];
      const std::uint64_t bytes = buffers.in_at[m + 1] - buffers.in_at[m];
      if (move.destination != plan().self || bytes == 0) continue;
      std::memcpy(recv_.at(move.origin.value) + move.offset, buffers.in + buffers.in_at[m], bytes);
    }
  }
}

}  // namespace alm::execute

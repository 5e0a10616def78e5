#include "carrier/grid_exchange.h"

#include <cstring>
#include <utility>

namespace alm::carrier {

GridExchange::GridExchange(plan::Grid grid, io::Driver& driver, const io::PeerSet& all,
                           std::span<const std::vector<std::uint16_t>> sets)
    : grid_(std::move(grid)), driver_(driver) {
  for (std::size_t d = 0; d < grid_.dimensions(); ++d) phases_.push_back(open(d, all, sets[d]));
}

GridExchange::Phase GridExchange::open(std::size_t dimension, const io::PeerSet& all,
                                       std::span<const std::uint16_t> sets) {
  const auto line = grid_.line(dimension);
  const std::uint32_t place = grid_.coordinate(grid_.place, dimension);
  io::PeerSet peers;
  peers.config = all.config;
  peers.identity.key = all.identity.key;
  peers.identity.self = place;
  for (const base::Rank member : line) {
    peers.identity.remote_set.push_back(sets[member.value]);
    peers.addresses.push_back(all.addresses[member.value]);
    peers.numbers.push_back(all.numbers.empty() ? member.value : all.numbers[member.value]);
  }
  peers.names = all.names;
  peers.family = all.family;
  const std::uint16_t set = peers.identity.remote_set[place];
  peers.identity.local_set = set;
  driver_.add_set(set, std::move(peers));
  std::vector<std::uint32_t> slots;
  for (std::uint32_t i = 0; i < grid_.at.size(); ++i) slots.push_back(slot(i, dimension));
  return {set, place, group_rounds(static_cast<std::uint32_t>(line.size()), place),
          std::move(slots)};
}

std::vector<std::uint16_t> GridExchange::sets() const {
  std::vector<std::uint16_t> sets;
  for (const Phase& phase : phases_) sets.push_back(phase.set);
  return sets;
}

std::uint32_t GridExchange::slot(std::uint32_t index, std::size_t dimension) const {
  const std::uint32_t stride = grid_.stride(dimension);
  const std::uint32_t length = grid_.lengths[dimension];
  const auto others = static_cast<std::uint32_t>(grid_.at.size()) / length;
  const std::uint32_t rest = index / (stride * length) * stride + index % stride;
  return grid_.coordinate(index, dimension) * others + rest;
}

// Blocks are held by index: along dimensions still to come the coordinate of their destination,
// along those done that of their origin. A phase swaps one for the other.
base::Status GridExchange::run(const std::byte* send, std::byte* recv, std::uint64_t bytes,
                               const io::Driver::Progress& progress, const io::Driver::Warn& warn) {
  const auto count = static_cast<std::uint32_t>(grid_.at.size());
  std::byte* blocks = blocks_store_.reserve(bytes * count);
  std::byte* out = send_store_.reserve(bytes * count);
  std::byte* in = recv_store_.reserve(bytes * count);
  for (std::uint32_t i = 0; i < count; ++i) {
    std::memcpy(blocks + i * bytes, send + grid_.at[i].value * bytes, bytes);
  }
  for (std::size_t d = 0; d < phases_.size(); ++d) {
    const Phase& phase = phases_[d];
    const std::uint64_t message = bytes * (count / grid_.lengths[d]);
    for (std::uint32_t i = 0; i < count; ++i) {
      std::memcpy(out + phase.slots[i] * bytes, blocks + i * bytes, bytes);
    }
    transport::Exchange exchange;
    exchange.rounds = &phase.rounds.rounds;
    exchange.send.base = out;
    exchange.recv.base = in;
    exchange.send.stride = exchange.recv.stride = message;
    exchange.send.bytes = exchange.recv.bytes = message;
    if (auto done = driver_.run(phase.set, exchange, progress, warn); !done) return done;
    std::memcpy(in + phase.place * message, out + phase.place * message, message);
    for (std::uint32_t i = 0; i < count; ++i) {
      std::memcpy(blocks + i * bytes, in + phase.slots[i] * bytes, bytes);
    }
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    std::memcpy(recv + grid_.at[i].value * bytes, blocks + i * bytes, bytes);
  }
  return {};
}

}  // namespace alm::carrier

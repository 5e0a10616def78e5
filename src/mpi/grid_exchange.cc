#include "mpi/grid_exchange.h"

#include <cstring>
#include <utility>

namespace alm::mpi {

GridExchange::GridExchange(plan::Grid grid, io::Driver& driver, const io::PeerSet& all,
                           std::span<const Sets> sets)
    : grid_(std::move(grid)), driver_(driver) {
  std::vector<base::Rank> row;
  std::vector<base::Rank> column;
  for (std::uint32_t c = 0; c < grid_.columns; ++c) row.push_back(grid_.rank_at(grid_.row, c));
  for (std::uint32_t r = 0; r < grid_.rows; ++r) column.push_back(grid_.rank_at(r, grid_.column));
  row_ = open(row, grid_.column, 0, all, sets);
  column_ = open(column, grid_.row, 1, all, sets);
}

GridExchange::Phase GridExchange::open(std::span<const base::Rank> members, std::uint32_t place,
                                       std::size_t phase, const io::PeerSet& all,
                                       std::span<const Sets> sets) {
  io::PeerSet peers;
  peers.config = all.config;
  peers.identity.key = all.identity.key;
  peers.identity.self = place;
  for (const base::Rank member : members) {
    peers.identity.remote_set.push_back(sets[member.value][phase]);
    peers.addresses.push_back(all.addresses[member.value]);
    peers.numbers.push_back(member.value);
  }
  peers.names = all.names;
  const std::uint16_t set = peers.identity.remote_set[place];
  peers.identity.local_set = set;
  driver_.add_set(set, std::move(peers));
  return {set, place, group_rounds(static_cast<std::uint32_t>(members.size()), place)};
}

void GridExchange::close() {
  driver_.remove_set(row_.set);
  driver_.remove_set(column_.set);
}

transport::Counters GridExchange::counters() const {
  transport::Counters sum = driver_.counters(row_.set);
  sum += driver_.counters(column_.set);
  return sum;
}

// Blocks lie by (column, row) in what a row exchanges, one message per column, and by (row, column)
// in what a column exchanges.
base::Status GridExchange::run(const std::byte* send, std::byte* recv, std::uint64_t bytes,
                               const io::Driver::Progress& progress, const io::Driver::Warn& warn) {
  const std::uint32_t rows = grid_.rows;
  const std::uint32_t columns = grid_.columns;
  std::byte* out = send_store_.reserve(bytes * grid_.at.size());
  std::byte* in = recv_store_.reserve(bytes * grid_.at.size());
  const auto by_column = [&](std::byte* base, std::uint32_t r, std::uint32_t c) {
    return base + (std::uint64_t{c} * rows + r) * bytes;
  };
  const auto by_row = [&](std::byte* base, std::uint32_t r, std::uint32_t c) {
    return base + (std::uint64_t{r} * columns + c) * bytes;
  };
  const auto each = [&](auto copy) {
    for (std::uint32_t r = 0; r < rows; ++r) {
      for (std::uint32_t c = 0; c < columns; ++c) copy(r, c);
    }
  };

  each([&](std::uint32_t r, std::uint32_t c) {
    std::memcpy(by_column(out, r, c), send + grid_.rank_at(r, c).value * bytes, bytes);
  });
  if (auto done = run_phase(row_, out, in, bytes * rows, progress, warn); !done) return done;
  for (std::uint32_t r = 0; r < rows; ++r) {
    std::memcpy(by_column(in, r, grid_.column), by_column(out, r, grid_.column), bytes);
  }

  each([&](std::uint32_t r, std::uint32_t c) {
    std::memcpy(by_row(out, r, c), by_column(in, r, c), bytes);
  });
  if (auto done = run_phase(column_, out, in, bytes * columns, progress, warn); !done) return done;
  std::memcpy(by_row(in, grid_.row, 0), by_row(out, grid_.row, 0), bytes * columns);

  each([&](std::uint32_t r, std::uint32_t c) {
    std::memcpy(recv + grid_.rank_at(r, c).value * bytes, by_row(in, r, c), bytes);
  });
  return {};
}

base::Status GridExchange::run_phase(const Phase& phase, const std::byte* send, std::byte* recv,
                                     std::uint64_t bytes, const io::Driver::Progress& progress,
                                     const io::Driver::Warn& warn) {
  transport::Exchange exchange;
  exchange.rounds = phase.rounds.view();
  exchange.send.base = send;
  exchange.recv.base = recv;
  exchange.send.stride = exchange.recv.stride = bytes;
  exchange.send.bytes = exchange.recv.bytes = bytes;
  return driver_.run(phase.set, exchange, progress, warn);
}

}  // namespace alm::mpi

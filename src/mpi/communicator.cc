#include "mpi/communicator.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>

namespace alm::mpi {

Communicator::Communicator(Job& job, CommHandle comm, std::uint32_t ranks, std::uint32_t self)
    : job_(job), comm_(comm), ranks_(ranks), self_(self) {}

std::optional<int> Communicator::alltoall(const AlltoallCall& call) {
  if (mode_ == Mode::kPassThrough || mode_ == Mode::kClosed) return std::nullopt;
  if (mode_ == Mode::kFailed) return job_.ops.raise(comm_, failure_);
  const std::uint64_t bytes = call.bytes();
  // Equal on correct programs; peers are already under way, so this rank cannot turn back alone.
  if (call.recv.bytes() != bytes) {
    return job_.ops.raise(
        comm_, fmt::format("allemande: MPI_Alltoall sends {} bytes to each rank but receives {}",
                           bytes, call.recv.bytes()));
  }
  announce(bytes);
  return on_trial() ? try_out(call) : accelerate(call);
}

int Communicator::accelerate(const AlltoallCall& call) {
  if (const int code = staging_.begin(job_.ops, call, ranks_, self_); code != kMpiSuccess) {
    return job_.ops.raise_code(comm_, code);
  }
  if (const auto done = exchange(call.bytes()); !done)
    return fail("MPI_Alltoall", done.error().message);
  if (const int code = staging_.finish(job_.ops, call, ranks_); code != kMpiSuccess) {
    return job_.ops.raise_code(comm_, code);
  }
  return kMpiSuccess;
}

transport::Exchange Communicator::equal_blocks(const std::byte* send, std::byte* recv,
                                               std::uint64_t bytes) const {
  transport::Exchange exchange;
  exchange.rounds = rounds_.view();
  exchange.send.base = send;
  exchange.recv.base = recv;
  exchange.send.stride = exchange.recv.stride = bytes;
  exchange.send.bytes = exchange.recv.bytes = bytes;
  return exchange;
}

base::Status Communicator::exchange(std::uint64_t bytes) {
  auto done = mode_ == Mode::kMessages ? over_messages(bytes) : over_udp(bytes);
  job_.stats.update([&](StatsRecord& stats) {
    ++stats.exchanges;
    ++stats.size(bytes).exchanges;
  });
  return done;
}

base::Status Communicator::over_messages(std::uint64_t bytes) {
  const std::uint64_t before = messages_->messages_sent();
  auto done = messages_->run(equal_blocks(staging_.send(), staging_.recv(), bytes));
  job_.stats.update(
      [&](StatsRecord& stats) { stats.mpi_messages += messages_->messages_sent() - before; });
  return done;
}

GridExchange* Communicator::grid_for(std::uint64_t bytes) const {
  if (grid_exchanges_.empty()) return nullptr;
  const auto packet_bytes = config_.datagram_bytes - static_cast<std::uint32_t>(wire::kHeaderBytes);
  const auto chosen = plan::choose_grid(grids_, bytes, packet_bytes);
  if (chosen) return grid_exchanges_[*chosen].get();
  return job_.options.algorithm == kGrid ? grid_exchanges_.front().get() : nullptr;
}

base::Status Communicator::over_udp(std::uint64_t bytes) {
  const auto got = job_.driver();
  if (!got) return got.error();
  io::Driver& driver = *got.value();
  const io::Driver::Progress progress = [this] { job_.ops.progress(); };
  const io::Driver::Warn warn = [this](const std::string& text) { job_.log.warning(text); };
  GridExchange* const grid = grid_for(bytes);
  auto done = grid != nullptr
                  ? grid->run(staging_.send(), staging_.recv(), bytes, progress, warn)
                  : driver.run(sets_[self_], equal_blocks(staging_.send(), staging_.recv(), bytes),
                               progress, warn);
  const auto now = counters(driver);
  job_.stats.update([&](StatsRecord& stats) {
    auto& line = stats.size(bytes);
    line.packets += now.data_sent - counted_.data_sent;
    line.retransmitted += now.data_retransmitted - counted_.data_retransmitted;
  });
  counted_ = now;
  return done;
}

transport::Counters Communicator::counters(const io::Driver& driver) const {
  transport::Counters sum = driver.counters(sets_[self_]);
  for (const auto& grid : grid_exchanges_) sum += grid->counters();
  return sum;
}

// A failed exchange leaves the ranks in different states: the communicator is given up for good.
int Communicator::fail(const char* function, const std::string& message) {
  const std::string text = fmt::format("{} failed: {}", function, message);
  failure_ = "allemande: " + text;
  job_.log.error(text);
  share_failure();
  close();
  mode_ = Mode::kFailed;
  return job_.ops.raise(comm_, failure_);
}

// On whatever set a peer waits for this rank: it is to learn that it waits in vain.
void Communicator::share_failure() {
  const auto driver = job_.driver();
  if (mode_ != Mode::kUdp || !driver) return;
  std::vector<std::uint16_t> sets = {sets_[self_]};
  for (const auto& grid : grid_exchanges_) {
    for (const std::uint16_t set : grid->sets()) sets.push_back(set);
  }
  driver.value()->share_failure(sets);
}

void Communicator::close() {
  if (mode_ == Mode::kUdp) {
    if (const auto driver = job_.driver()) {
      const auto sum = counters(*driver.value());
      job_.stats.update([&](StatsRecord& stats) { stats.channel += sum; });
      driver.value()->remove_set(sets_[self_]);
      for (const auto& grid : grid_exchanges_) grid->close();
    }
  }
  mode_ = Mode::kClosed;
  messages_.reset();
  grid_exchanges_.clear();
  staging_.release();
  blocks_.release();
  records_.clear();
}

void Communicator::announce(std::uint64_t bytes) {
  const auto size_class = static_cast<int>(std::bit_width(bytes));
  GridExchange* const grid = mode_ == Mode::kUdp ? grid_for(bytes) : nullptr;
  if (self_ != 0 || !job_.log.shows(LogLevel::kInfo) ||
      !announced_.insert({size_class, grid}).second) {
    return;
  }
  job_.log.info(size_class_text(bytes) + way_text(bytes));
}

std::string Communicator::size_class_text(std::uint64_t bytes) const {
  const auto size_class = static_cast<int>(std::bit_width(bytes));
  return fmt::format("MPI_Alltoall on {} ranks, {} to {} bytes per pair: ", ranks_,
                     std::uint64_t{1} << (size_class - 1), (std::uint64_t{1} << size_class) - 1);
}

std::string Communicator::way_text(std::uint64_t bytes) const {
  std::string order =
      fmt::format("{} ({})", plan::name_of(rounds_.algorithm), plan::name_of(rounds_.permutation));
  if (mode_ != Mode::kUdp) return order + " over MPI point-to-point messages";
  if (const GridExchange* const grid = grid_for(bytes)) {
    order = fmt::format("grid ({})", fmt::join(grid->grid().lengths, " x "));
  }
  return fmt::format("{} over UDP, window {} packets, grain {}, {}-byte datagrams", order,
                     config_.window_packets, config_.grain_packets, config_.datagram_bytes);
}

}  // namespace alm::mpi

#include "mpi/communicator.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>

namespace alm::mpi {
namespace {

transport::Exchange equal_blocks(const Staging& staging, std::uint64_t bytes) {
  transport::Exchange exchange;
  exchange.send.base = staging.send();
  exchange.recv.base = staging.recv();
  exchange.send.stride = exchange.recv.stride = bytes;
  exchange.send.bytes = exchange.recv.bytes = bytes;
  return exchange;
}

}  // namespace

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
  if (const auto done = exchange(call.bytes()); !done) {
    return fail("MPI_Alltoall", done.error().message);
  }
  if (const int code = staging_.finish(job_.ops, call, ranks_); code != kMpiSuccess) {
    return job_.ops.raise_code(comm_, code);
  }
  return kMpiSuccess;
}

base::Status Communicator::exchange(std::uint64_t bytes) {
  const auto grid = grid_for(bytes);
  auto done = node_  ? node_->alltoall(staging_.send(), staging_.recv(), bytes, grid)
              : grid ? group_->run_grid(*grid, staging_.send(), staging_.recv(), bytes)
                     : run(equal_blocks(staging_, bytes));
  const auto more = count();
  job_.stats.update([&](StatsRecord& stats) {
    ++stats.exchanges;
    auto& line = stats.size(bytes);
    ++line.exchanges;
    line.packets += more.data_sent;
    line.retransmitted += more.data_retransmitted;
  });
  return done;
}

base::Status Communicator::run(const transport::Exchange& exchange) {
  return mode_ == Mode::kMessages ? over_messages(exchange) : group_->run(exchange);
}

base::Status Communicator::over_messages(transport::Exchange exchange) {
  exchange.rounds = rounds_.view();
  const std::uint64_t before = messages_->messages_sent();
  auto done = messages_->run(exchange);
  job_.stats.update(
      [&](StatsRecord& stats) { stats.mpi_messages += messages_->messages_sent() - before; });
  return done;
}

std::optional<std::size_t> Communicator::grid_for(std::uint64_t bytes) const {
  if (!group_ || group_->grids() == 0) return std::nullopt;
  if (node_ && bytes > node_->piece_bytes()) return std::nullopt;  // it goes in slabs
  const std::uint64_t each = placement_.count(host_);
  if (const auto chosen = group_->choose_grid(each * each * bytes)) return chosen;
  if (job_.options.algorithm == kGrid) return 0;
  return std::nullopt;
}

// What the group has done since it was last asked.
transport::Counters Communicator::count() {
  if (!group_) return {};
  const auto now = group_->counters();
  auto more = now;
  more.data_sent -= counted_.data_sent;
  more.data_retransmitted -= counted_.data_retransmitted;
  counted_ = now;
  return more;
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

void Communicator::close() {
  if (group_) {
    const auto sum = group_->counters();
    job_.stats.update([&](StatsRecord& stats) { stats.channel += sum; });
    group_->close();
  }
  mode_ = Mode::kClosed;
  node_.reset();
  counts_.reset();
  group_.reset();
  messages_.reset();
  staging_.release();
  blocks_.release();
  records_.clear();
}

void Communicator::announce(std::uint64_t bytes) {
  if (self_ != 0 || !job_.log.shows(LogLevel::kInfo)) return;
  const auto grid = grid_for(bytes);
  if (!announced_.insert({static_cast<int>(std::bit_width(bytes)), grid}).second) return;
  job_.log.info(size_class_text(bytes) + way_text(grid));
}

void Communicator::announce_blocks(const char* function) {
  if (self_ != 0 || blocks_announced_ || !job_.log.shows(LogLevel::kInfo)) return;
  blocks_announced_ = true;
  job_.log.info(fmt::format("{} on {} ranks: {}", function, ranks_, way_text(std::nullopt)));
}

std::string Communicator::size_class_text(std::uint64_t bytes) const {
  const auto size_class = static_cast<int>(std::bit_width(bytes));
  return fmt::format("MPI_Alltoall on {} ranks, {} to {} bytes per pair: ", ranks_,
                     std::uint64_t{1} << (size_class - 1), (std::uint64_t{1} << size_class) - 1);
}

std::string Communicator::way_text(std::optional<std::size_t> grid) const {
  std::string order =
      fmt::format("{} ({})", plan::name_of(rounds_.algorithm), plan::name_of(rounds_.permutation));
  if (mode_ != Mode::kUdp) return order + " over MPI point-to-point messages";
  if (grid) order = fmt::format("grid ({})", fmt::join(group_->grid(*grid).lengths, " x "));
  return fmt::format("{} over UDP, {}{}", order, group_->settings_text(),
                     node_ ? ", " + placement_.text() : "");
}

}  // namespace alm::mpi

#include "mpi/communicator.h"

#include <fmt/format.h>

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
  if (const int code = staging_.begin(job_.ops, call, ranks_, self_); code != kMpiSuccess) {
    return job_.ops.raise(comm_, "allemande: MPI_Pack failed on the send buffer");
  }
  const auto wanted = equal_blocks(staging_.send(), staging_.recv(), bytes);
  if (const auto done = exchange(wanted, bytes); !done) return fail(done.error().message);
  if (const int code = staging_.finish(job_.ops, call, ranks_); code != kMpiSuccess) {
    return job_.ops.raise(comm_, "allemande: MPI_Unpack failed on the receive buffer");
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

base::Status Communicator::exchange(const transport::Exchange& exchange, std::uint64_t bytes) {
  if (mode_ == Mode::kMessages) {
    const std::uint64_t before = messages_->messages_sent();
    auto done = messages_->run(exchange);
    job_.stats.update([&](StatsRecord& stats) {
      ++stats.exchanges;
      ++stats.size(bytes).exchanges;
      stats.mpi_messages += messages_->messages_sent() - before;
    });
    return done;
  }
  const auto driver = job_.driver();
  if (!driver) return driver.error();
  auto done = driver.value()->run(
      sets_[self_], exchange, [this] { job_.ops.progress(); },
      [this](const std::string& warning) { job_.log.warning(warning); });
  const auto now = driver.value()->counters(sets_[self_]);
  job_.stats.update([&](StatsRecord& stats) {
    auto& line = stats.size(bytes);
    ++stats.exchanges;
    ++line.exchanges;
    line.packets += now.data_sent - counted_.data_sent;
    line.retransmitted += now.data_retransmitted - counted_.data_retransmitted;
  });
  counted_ = now;
  return done;
}

// A failed exchange leaves the ranks in different states: the communicator is given up for good.
// Its set goes, so that peers who still wait for this rank learn that they wait in vain.
int Communicator::fail(const std::string& message) {
  failure_ = "allemande: MPI_Alltoall failed: " + message;
  job_.log.error("MPI_Alltoall failed: " + message);
  close();
  mode_ = Mode::kFailed;
  return job_.ops.raise(comm_, failure_);
}

void Communicator::close() {
  if (mode_ == Mode::kUdp) {
    if (const auto driver = job_.driver()) {
      const auto counters = driver.value()->counters(sets_[self_]);
      job_.stats.update([&](StatsRecord& stats) { stats.channel += counters; });
      driver.value()->remove_set(sets_[self_]);
    }
  }
  mode_ = Mode::kClosed;
  messages_.reset();
  staging_.release();
  records_.clear();
}

void Communicator::announce(std::uint64_t bytes) {
  const auto size_class = static_cast<int>(std::bit_width(bytes));
  if (self_ != 0 || !job_.log.shows(LogLevel::kInfo) || !announced_.insert(size_class).second) {
    return;
  }
  std::string how = "over MPI point-to-point messages";
  if (mode_ == Mode::kUdp) {
    how = fmt::format("over UDP, window {} packets, grain {}, {}-byte datagrams",
                      config_.window_packets, config_.grain_packets, config_.datagram_bytes);
  }
  job_.log.info(fmt::format("MPI_Alltoall on {} ranks, {} to {} bytes per pair: {} ({}) {}", ranks_,
                            std::uint64_t{1} << (size_class - 1),
                            (std::uint64_t{1} << size_class) - 1, plan::name_of(rounds_.algorithm),
                            plan::name_of(rounds_.permutation), how));
}

}  // namespace alm::mpi

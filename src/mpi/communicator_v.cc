// MPI_Alltoallv and MPI_Alltoallw: blocks of any size, in the rounds of MPI_Alltoall. Counts are
// local facts, so nothing is decided by them here.
#include <fmt/format.h>

#include "mpi/communicator.h"

namespace alm::mpi {

std::optional<int> Communicator::alltoall_blocks(const BlockCall& call) {
  if (mode_ == Mode::kPassThrough || mode_ == Mode::kClosed) return std::nullopt;
  if (mode_ == Mode::kFailed) return job_.ops.raise(comm_, failure_);
  announce_blocks(call.name);
  if (const int code = blocks_.begin(job_.ops, call, self_); code != kMpiSuccess) {
    return job_.ops.raise_code(comm_, code);
  }
  if (const auto done = exchange_blocks(); !done) return fail(call.name, done.error().message);
  if (const int code = blocks_.finish(job_.ops, call, self_); code != kMpiSuccess) {
    return job_.ops.raise_code(comm_, code);
  }
  return kMpiSuccess;
}

base::Status Communicator::exchange_blocks() {
  transport::Exchange exchange;
  exchange.rounds = rounds_.view();
  exchange.send = blocks_.send();
  exchange.recv = blocks_.recv();
  auto done = mode_ == Mode::kMessages ? blocks_over_messages(exchange) : blocks_over_udp(exchange);
  job_.stats.update([](StatsRecord& stats) { ++stats.exchanges; });
  return done;
}

base::Status Communicator::blocks_over_messages(const transport::Exchange& exchange) {
  const std::uint64_t before = messages_->messages_sent();
  auto done = messages_->run(exchange);
  job_.stats.update(
      [&](StatsRecord& stats) { stats.mpi_messages += messages_->messages_sent() - before; });
  return done;
}

base::Status Communicator::blocks_over_udp(const transport::Exchange& exchange) {
  const auto got = job_.driver();
  if (!got) return got.error();
  io::Driver& driver = *got.value();
  auto done = driver.run(
      sets_[self_], exchange, [this] { job_.ops.progress(); },
      [this](const std::string& text) { job_.log.warning(text); });
  counted_ = counters(driver);  // of no message size
  return done;
}

void Communicator::announce_blocks(const char* function) {
  if (self_ != 0 || blocks_announced_ || !job_.log.shows(LogLevel::kInfo)) return;
  blocks_announced_ = true;
  std::string how = "MPI point-to-point messages";
  if (mode_ == Mode::kUdp) {
    how = fmt::format("UDP, window {} packets, grain {}, {}-byte datagrams", config_.window_packets,
                      config_.grain_packets, config_.datagram_bytes);
  }
  job_.log.info(fmt::format("{} on {} ranks: {} ({}) over {}", function, ranks_,
                            plan::name_of(rounds_.algorithm), plan::name_of(rounds_.permutation),
                            how));
}

}  // namespace alm::mpi

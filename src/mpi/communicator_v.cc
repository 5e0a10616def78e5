// MPI_Alltoallv and MPI_Alltoallw: blocks of any size, in the rounds of MPI_Alltoall or in steps
// made from the counts (counts.h).
#include <fmt/format.h>

#include <vector>

#include "mpi/communicator.h"

namespace alm::mpi {

std::optional<int> Communicator::alltoall_blocks(const BlockCall& call) {
  settle();
  if (!accelerates()) return std::nullopt;
  if (mode_ == Mode::kFailed) return raise_failure();
  announce_blocks(call.name);
  begin_call();
  return or_withdraw(call.name, [&] {
    return blocks_on_trial() ? try_out_blocks(call) : accelerate_blocks(call);
  });
}

int Communicator::accelerate_blocks(const BlockCall& call) {
  if (const auto ready = packed(blocks_.begin(job_.ops, call, self_)); !ready) {
    return withdraw(call.name, ready.error());
  }
  const bool counts_known = blocks_on_trial() && counts_tell();
  const auto done = counts_known ? send_blocks(blocks_) : exchange_blocks(blocks_);
  if (!done) return fail(call.name, done.error());
  if (const int code = blocks_.finish(job_.ops, call, self_); code != kMpiSuccess) {
    return job_.ops.raise_code(comm_, code);
  }
  return kMpiSuccess;
}

base::Status Communicator::exchange_blocks(const BlockStaging& staged) {
  if (mode_ == Mode::kMessages) {
    if (auto same = compare_sizes(staged); !same) return same;
  }
  if (counts_ && !node_) {
    if (auto known = counts_->prepare(staged.send().size, staged.recv().size); !known) return known;
  }
  return send_blocks(staged);
}

base::Status Communicator::send_blocks(const BlockStaging& staged) {
  transport::Exchange exchange;
  exchange.send = staged.send();
  exchange.recv = staged.recv();
  if (counts_ && !node_) exchange.rounds = &counts_->rounds();
  auto done = node_ ? node_->alltoall_blocks(exchange.send, exchange.recv) : run(exchange);
  count();  // of no message size
  job_.stats.update([](StatsRecord& stats) { ++stats.exchanges; });
  return done;
}

// Messages do not tell what is missing, so sizes are compared beforehand. All ranks learn the
// outcome.
base::Status Communicator::compare_sizes(const BlockStaging& staged) {
  constexpr std::uint64_t kNone = ~std::uint64_t{0};
  const auto expected = staged.recv().size;
  std::vector<std::uint64_t> sent(ranks_);
  if (job_.ops.alltoall(comm_, staged.send().size, sent) != kMpiSuccess) {
    return base::io_error("MPI_Alltoall of the sizes failed");
  }
  std::uint64_t pair = kNone;
  for (std::uint64_t from = ranks_; from-- > 0;) {
    if (sent[from] != expected[from]) pair = std::uint64_t{self_} * ranks_ + from;
  }
  job_.ops.allreduce_min(comm_, pair);
  if (pair == kNone) return {};
  const auto to = static_cast<std::uint32_t>(pair / ranks_);
  const auto from = static_cast<std::uint32_t>(pair % ranks_);
  std::uint64_t is_sent = self_ == to ? sent[from] : kNone;
  std::uint64_t is_expected = self_ == to ? expected[from] : kNone;
  job_.ops.allreduce_min(comm_, is_sent);
  job_.ops.allreduce_min(comm_, is_expected);
  return base::bad_input(
      fmt::format("rank {} on {} sends {} bytes to rank {} on {}, which expects {} bytes", from,
                  host_of_rank(from), is_sent, to, host_of_rank(to), is_expected));
}

void Communicator::raise_late_failure() {
  if (!group_ || dead()) return;
  const auto found = group_->trouble();
  if (!found) fail("MPI_Alltoallv", found.error());
}

}  // namespace alm::mpi

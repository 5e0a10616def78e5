// How the ranks of a communicator that share a host come together (node.h), and part.
#include <fmt/format.h>
#include <unistd.h>

#include <limits>
#include <utility>

#include "mpi/communicator.h"
#include "node/node_slabs.h"

namespace alm::mpi {

// Null: `mine` has the reason, and no longer claims to have sockets.
std::unique_ptr<node::NodeMemory> Communicator::lend_memory(PeerRecord& mine) const {
  auto memory = node::NodeMemory::create(node::node_shape(placement_, host_, node::kNodeSlabBytes),
                                         mine.key, {job_.liveness, job_.rank});
  if (!memory) {
    mine.udp = 0;
    set_cause(mine, memory.error().message);
    return nullptr;
  }
  mine.process = static_cast<std::int32_t>(getpid());
  mine.memory_file = memory.value()->file();
  return std::move(memory).value();
}

// Collective. Empty when every rank has the memory of its leader; else why one has not, equal on
// all ranks.
std::string Communicator::attach(std::unique_ptr<node::NodeMemory>& memory) {
  constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t outcome = kAll;
  PeerRecord mine = records_[self_];
  if (!placement_.leads(self_)) {
    const PeerRecord& leader = records_[placement_.leader(host_)];
    auto attached = node::NodeMemory::attach(
        node::node_shape(placement_, host_, node::kNodeSlabBytes), leader.key, leader.process,
        leader.memory_file, placement_.place[self_], {job_.liveness, job_.rank});
    if (attached) {
      memory = std::move(attached).value();
    } else {
      outcome = self_;
      set_cause(mine, attached.error().message);
    }
  }
  job_.ops.allreduce_min(comm_, outcome);
  if (outcome == kAll) return {};
  memory.reset();
  // Nobody but those ranks knows the reason.
  if (job_.ops.allgather(comm_, std::as_bytes(std::span(&mine, 1)),
                         std::as_writable_bytes(std::span(records_))) != kMpiSuccess) {
    return "MPI_Allgather failed on it";
  }
  const auto rank = static_cast<std::uint32_t>(outcome);
  return fmt::format(
      "rank {} on {} cannot share memory with rank {} (in a container of its own?): {}", rank,
      host_of_rank(rank), placement_.leader(placement_.host_of[rank]), records_[rank].cause.data());
}

void Communicator::join_node(std::unique_ptr<node::NodeMemory> memory) {
  node::Node::Settings settings;
  settings.peer_warning = job_.options.peer_warning_s * base::kSecond;
  settings.peer_timeout = job_.options.peer_timeout_s * base::kSecond;
  settings.progress = [this] { job_.ops.progress(); };
  settings.warn = [this](const std::string& text) { job_.log.warning(text); };
  node_ = std::make_unique<carrier::NodeExchange>(
      std::make_unique<node::Node>(std::move(memory), placement_.ranks[host_], rank_names(),
                                   std::move(settings)),
      placement_, self_, group_.get());
}

// Whoever waits for this rank, on this host or another, is to learn that it waits in vain.
void Communicator::share_failure() {
  if (!group_) return;
  const auto lost = node_ ? node_->node().lost() : std::nullopt;
  if (lost) {
    group_->give_up(*node_->node().failure(), *lost);
  } else {
    group_->share_failure();
  }
}

}  // namespace alm::mpi

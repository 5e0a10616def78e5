#include "communicator/neighbourhood.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "job/safe_collectives.h"
#include "plan/uneven.h"

namespace alm::communicator {

base::Status Neighbourhood::learn(job::MpiOps& mpi, job::CommHandle comm, std::uint32_t ranks,
                                  std::uint32_t self) {
  ranks_ = ranks;
  self_ = self;
  job::Neighbours found;
  const bool told = mpi.neighbours(comm, found) == job::kMpiSuccess;
  // Ranks that know would wait for one that does not.
  if (!job::SafeCollectives(mpi, comm).on_all(told)) {
    return base::io_error("the MPI library does not tell every rank its neighbours");
  }
  for (std::uint32_t slot = 0; slot < found.to.size(); ++slot) {
    if (found.to[slot] == job::Neighbours::kNobody) continue;
    send_slots_.push_back(slot);
    send_to_.push_back(found.to[slot]);
  }
  for (std::uint32_t slot = 0; slot < found.from.size(); ++slot) {
    if (found.from[slot].rank != job::Neighbours::kNobody) recv_slots_.push_back(slot);
  }
  std::sort(recv_slots_.begin(), recv_slots_.end(), [&](std::uint32_t a, std::uint32_t b) {
    const auto &one = found.from[a], &other = found.from[b];
    return std::tie(one.rank, one.slot) < std::tie(other.rank, other.slot);
  });
  for (const std::uint32_t slot : recv_slots_) recv_from_.push_back(found.from[slot].rank);
  return ranks <= plan::kUnevenRanksMax ? learn_of_others(mpi, comm) : base::Status{};
}

base::Status Neighbourhood::learn_of_others(job::MpiOps& mpi, job::CommHandle comm) {
  std::vector<std::uint32_t> mine(ranks_);
  for (const std::uint32_t to : send_to_) ++mine[to];
  edges_.resize(std::size_t{ranks_} * ranks_);
  if (mpi.allgather(comm, std::as_bytes(std::span(mine)),
                    std::as_writable_bytes(std::span(edges_))) != job::kMpiSuccess) {
    return base::io_error("MPI_Allgather of the ranks' neighbours failed");
  }
  // Of two ranks each may send blocks of a size of its own (MPI 4.1, section 8.6).
  connected_ = ranks_ > 2 && reaches_all();
  for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
    std::uint64_t out = 0;
    std::uint64_t in = 0;
    for (std::uint32_t peer = 0; peer < ranks_; ++peer) {
      if (peer == rank) continue;
      out += edges_[std::size_t{rank} * ranks_ + peer];
      in += edges_[std::size_t{peer} * ranks_ + rank];
    }
    fullest_ = std::max({fullest_, out, in});
    const std::uint64_t own = edges_[std::size_t{rank} * ranks_ + rank];
    fullest_with_own_ = std::max({fullest_with_own_, out + own, in + own});
  }
  return {};
}

// Every rank has an edge at least.
std::uint64_t Neighbourhood::most_bytes(const courier::NeighbourCall& call) const {
  if (!call.one_size || !connected_) return 0;
  const job::TypedBuffer& block =
      recv_slots_.empty() ? call.send[send_slots_.front()] : call.recv[recv_slots_.front()];
  return fullest_with_own_ * block.bytes();
}

bool Neighbourhood::reaches_all() const {
  std::vector<bool> reached(ranks_);
  std::vector<std::uint32_t> ahead = {0};
  reached[0] = true;
  std::uint32_t count = 1;
  while (!ahead.empty()) {
    const std::uint32_t rank = ahead.back();
    ahead.pop_back();
    for (std::uint32_t peer = 0; peer < ranks_; ++peer) {
      const bool edge = edges_[std::size_t{rank} * ranks_ + peer] > 0 ||
                        edges_[std::size_t{peer} * ranks_ + rank] > 0;
      if (!edge || reached[peer]) continue;
      reached[peer] = true;
      ahead.push_back(peer);
      ++count;
    }
  }
  return count == ranks_;
}

courier::BlockCall Neighbourhood::blocks_of(const courier::NeighbourCall& call) {
  const auto take = [](std::span<const job::TypedBuffer> given,
                       const std::vector<std::uint32_t>& slots,
                       std::vector<job::TypedBuffer>& out) {
    out.clear();
    for (const std::uint32_t slot : slots) out.push_back(given[slot]);
  };
  take(call.send, send_slots_, send_);
  take(call.recv, recv_slots_, recv_);
  courier::BlockCall blocks;
  blocks.name = call.name;
  blocks.comm = call.comm;
  blocks.send = send_;
  blocks.recv = recv_;
  blocks.send_to = send_to_;
  blocks.recv_from = recv_from_;
  blocks.native = call.native;
  blocks.taken = call.taken;
  return blocks;
}

std::vector<std::uint64_t> Neighbourhood::between_hosts(const plan::Placement& placement) const {
  const std::size_t hosts = placement.hosts();
  std::vector<std::uint64_t> blocks(hosts * hosts);
  for (std::uint32_t from = 0; from < ranks_; ++from) {
    for (std::uint32_t to = 0; to < ranks_; ++to) {
      blocks[placement.host_of[from] * hosts + placement.host_of[to]] +=
          edges_[std::size_t{from} * ranks_ + to];
    }
  }
  return blocks;
}

}  // namespace alm::communicator

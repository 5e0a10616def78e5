#include "communicator/neighbour_load.h"

#include <algorithm>
#include <vector>

#include "topology/cluster.h"

namespace alm::communicator {
namespace {

// The least time for blocks of `bytes` along every edge; 0: not known.
base::Nanos least_time(const job::Job& job, const meeting::Members& members,
                       const Neighbourhood& neighbourhood, std::uint64_t bytes) {
  if (members.hosts.empty()) return 0;
  auto amounts = neighbourhood.between_hosts(members.placement);
  for (std::uint64_t& amount : amounts) amount *= bytes;
  return static_cast<base::Nanos>(
      base::kSecond * topology::traffic_limit_seconds(*job.cluster, members.hosts, amounts,
                                                      topology::Packing::kShared));
}

// Where edges reach every rank, each has one at least: it sends or receives.
std::uint64_t block_of(const courier::BlockCall& call) {
  return call.recv.empty() ? call.send.front().bytes() : call.recv.front().bytes();
}

std::vector<std::uint64_t> sizes_of(std::span<const job::TypedBuffer> buffers,
                                    std::span<const std::uint32_t> of, std::uint32_t ranks) {
  std::vector<std::uint64_t> sizes(ranks);
  for (std::size_t i = 0; i < buffers.size(); ++i) sizes[of[i]] += buffers[i].bytes();
  return sizes;
}

}  // namespace

std::optional<std::uint64_t> NeighbourLoad::known(const courier::BlockCall& call, bool one_size,
                                                  const Neighbourhood& neighbourhood) {
  if (!one_size || !neighbourhood.connected()) return std::nullopt;
  return std::max<std::uint64_t>(neighbourhood.fullest() * block_of(call), 1);
}

base::Status NeighbourLoad::learn(job::Job& job, const courier::BlockCall& call, bool one_size,
                                  courier::Failure& failure, const meeting::Members& members,
                                  const Neighbourhood& neighbourhood) {
  const auto load = known(call, one_size, neighbourhood);
  if (!load) return agree(failure, call, members);
  const std::uint64_t block = block_of(call);
  bytes_ = *load;
  if (block == limit_for_) return {};
  limit_ = least_time(job, members, neighbourhood, block);
  limit_for_ = block;
  return {};
}

base::Status NeighbourLoad::agree(courier::Failure& failure, const courier::BlockCall& call,
                                  const meeting::Members& members) {
  const auto send = sizes_of(call.send, call.send_to, members.ranks);
  const auto recv = sizes_of(call.recv, call.recv_from, members.ranks);
  if (auto agreed = agreed_.prepare(call.name, failure, send, recv, members.self, 0); !agreed) {
    return agreed;
  }
  bytes_ = agreed_.bytes();
  limit_ = 0;
  limit_for_ = 0;
  return {};
}

}  // namespace alm::communicator

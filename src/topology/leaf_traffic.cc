#include "topology/leaf_traffic.h"

#include <cassert>
#include <map>

#include "topology/graph.h"
#include "topology/loads.h"

namespace alm::topology {
namespace {

template <class Load>
LeafTraffic by_leaf(const Cluster& cluster, const Load& load) {
  const Adjacency adjacency(cluster);
  LeafTraffic out;
  std::map<std::uint32_t, std::size_t> index;
  std::vector<std::size_t> end_of(cluster.host_count());
  for (std::uint32_t host = 0; host < cluster.host_count(); ++host) {
    const auto edges = adjacency[host];
    const std::uint32_t node = edges.size() == 1 ? edges.front().peer : host;
    const auto [it, is_new] = index.try_emplace(node, out.ends.size());
    if (is_new) out.ends.push_back(NodeId{node});
    end_of[host] = it->second;
  }
  const std::size_t ends = out.ends.size();
  out.bytes.assign(ends * ends, 0);
  for (std::uint32_t from = 0; from < cluster.host_count(); ++from) {
    for (std::uint32_t to = 0; to < cluster.host_count(); ++to) {
      if (end_of[from] == end_of[to]) continue;
      out.bytes[end_of[from] * ends + end_of[to]] += load.between(from, to);
    }
  }
  return out;
}

}  // namespace

LeafTraffic alltoall_leaf_traffic(const Cluster& cluster, std::span<const base::HostId> hosts,
                                  std::uint64_t bytes, Packing packing) {
  return by_leaf(cluster, Equal(cluster, hosts, bytes, packing));
}

LeafTraffic leaf_traffic(const Cluster& cluster, std::span<const base::HostId> hosts,
                         std::span<const std::uint64_t> bytes, Packing packing) {
  assert(bytes.size() == hosts.size() * hosts.size());
  return by_leaf(cluster, Traffic(cluster, hosts, bytes, packing));
}

}  // namespace alm::topology

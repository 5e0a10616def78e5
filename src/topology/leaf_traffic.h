// The traffic of an exchange between leaves: bytes from the hosts of one leaf to those of another.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "topology/cluster.h"

namespace alm::topology {

struct LeafTraffic {
  // Where traffic enters and leaves the network: leaf switches, and hosts with several links.
  std::vector<NodeId> ends;
  std::vector<double> bytes;  // framed: [from * ends + to], 0 from an end to itself
};

// For `bytes` per ordered pair of hosts, one rank each.
LeafTraffic alltoall_leaf_traffic(const Cluster& cluster, std::span<const base::HostId> hosts,
                                  std::uint64_t bytes, Packing packing = Packing::kPerMessage);
// For blocks that differ; arguments as of traffic_limits().
LeafTraffic leaf_traffic(const Cluster& cluster, std::span<const base::HostId> hosts,
                         std::span<const std::uint64_t> bytes,
                         Packing packing = Packing::kPerMessage);

}  // namespace alm::topology

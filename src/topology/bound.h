// The bound of an exchange: the least time it can take, for small blocks too. The limit
// (alltoall_limits) counts bytes alone. But the first byte on a link has come there from a sender,
// and the last one still has to get to a receiver:
//   T >= max over directed links of (least time before it + bytes / rate + least time after it)
// The times are those over an idle network, with each link's frame time and latency; switches that
// cut through pass the head of a frame on at once. The frames on both ways are the shortest
// possible: a message has full frames but for the last one, and where messages share packets a
// frame may hold a single byte. Exchanges that follow each other without a barrier may overlap and
// take less than the sum of their bounds.
#pragma once

#include <cstdint>
#include <span>

#include "topology/cluster.h"

namespace alm::topology {

// Same arguments as alltoall_limit_seconds and traffic_limit_seconds; never less than those.
double alltoall_bound_seconds(const Cluster& cluster, std::span<const base::HostId> hosts,
                              std::uint64_t bytes, Packing packing = Packing::kPerMessage);
double traffic_bound_seconds(const Cluster& cluster, std::span<const base::HostId> hosts,
                             std::span<const std::uint64_t> bytes,
                             Packing packing = Packing::kPerMessage);

}  // namespace alm::topology

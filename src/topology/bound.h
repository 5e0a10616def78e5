// The bound of an exchange: what no way of carrying it undercuts, for small blocks too. The limit
// (alltoall_limits) counts bytes alone; before the first of them is on a link it has to come there
// from a sender, and after the last one it has a way to go to a receiver:
//   T >= max over directed links of (least way before it + bytes / rate + least way after it)
// over an idle network, each link's frame time and latency counted, and the heads of frames where
// switches cut through. The frames of both ways are the shortest there can be: those of a message
// are full but for the last one, whatever headers of its own a protocol puts into them. Where
// messages share packets one may hold a single byte. Exchanges that follow each other without a
// barrier may overlap and so take less than the sum of their bounds, as they may with the sum of
// their ways.
#pragma once

#include <cstdint>
#include <span>

#include "topology/cluster.h"

namespace alm::topology {

// As alltoall_limit_seconds and traffic_limit_seconds, with the same arguments; never less.
double alltoall_bound_seconds(const Cluster& cluster, std::span<const base::HostId> hosts,
                              std::uint64_t bytes, Packing packing = Packing::kPerMessage);
double traffic_bound_seconds(const Cluster& cluster, std::span<const base::HostId> hosts,
                             std::span<const std::uint64_t> bytes,
                             Packing packing = Packing::kPerMessage);

}  // namespace alm::topology

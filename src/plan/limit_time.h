// How fast a rank can send if no one else uses the links.
#pragma once

#include <cstdint>
#include <span>

#include "base/ids.h"
#include "topology/cluster.h"

namespace alm::plan {

// The time from one datagram of a rank to the next in a complete exchange whose limiting link is
// always busy; 0 with fewer than two hosts.
double limit_time_us(const topology::Cluster& cluster, std::span<const base::HostId> hosts,
                     std::uint32_t datagram_bytes);

}  // namespace alm::plan

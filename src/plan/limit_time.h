// How fast a rank can send where the exchange has the links for itself.
#pragma once

#include <cstdint>
#include <span>

#include "base/ids.h"
#include "topology/cluster.h"

namespace alm::plan {

// From one datagram of a rank to the next in an exchange of all with all, when the link that limits
// it is always busy; 0: with fewer than two hosts.
double limit_time_us(const topology::Cluster& cluster, std::span<const base::HostId> hosts,
                     std::uint32_t datagram_bytes);

}  // namespace alm::plan

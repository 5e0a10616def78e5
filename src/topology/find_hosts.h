// The hosts of a cluster by their names, and what it says of their links.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "topology/cluster.h"

namespace alm::topology {

// In the order of the file.
std::vector<base::HostId> all_hosts(const Cluster& cluster);

// kBadInput for an unknown name; the message lists the valid ones.
base::Result<std::vector<base::HostId>> find_hosts(const Cluster& cluster,
                                                   std::span<const std::string> names);

// Of `count` links of a host, from number `first` on: their rates together, and the line of the
// first.
struct LinkClaim {
  double mbit_s = 0;
  std::uint32_t line = 0;
};
LinkClaim claim_of(const Cluster& cluster, base::HostId host, std::size_t first, std::size_t count);

}  // namespace alm::topology

// The hosts of a cluster by their names.
#pragma once

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

}  // namespace alm::topology

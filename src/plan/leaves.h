// Where hosts lie in the hierarchy that plans are mapped to.
#pragma once

#include <span>

#include "base/ids.h"
#include "plan/plan.h"
#include "topology/cluster.h"

namespace alm::plan {

// Where the switches form no tree, the only level is the leaves. `hosts` lies by rank.
LeafOf leaves_of(const topology::Cluster& cluster, std::span<const base::HostId> hosts);

}  // namespace alm::plan

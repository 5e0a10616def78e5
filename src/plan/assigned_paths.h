// Assigns path numbers so that as few packets of one step as possible share a link between a leaf
// switch and those above it (schedule/spread_over_routes.h). The routing tables tell which path
// number leads by which uplink of a leaf.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/rounds.h"
#include "routing/routes.h"
#include "topology/cluster.h"

namespace alm::plan {

constexpr base::PeerId kSendsNothing = UINT32_MAX;  // in a step

// `sends`: [member] the peers it sends to, step by step. A pair that has a path from an earlier
// step keeps it. Returns [from * members + to] the path number, below `paths`; 0 where there is no
// choice. If no path number leads by the wanted uplink, the number of the uplink is taken. Higher
// levels are left to the routing.
base::Result<std::vector<std::uint8_t>> assign_paths(
    const topology::Cluster& cluster, routing::Rule rule, std::uint32_t paths,
    std::span<const base::HostId> members, std::span<const std::vector<base::PeerId>> sends,
    const routing::Settings& settings = {});

}  // namespace alm::plan

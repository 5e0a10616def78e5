// Paths by plan: of what is sent in one step, as little as possible shares a link between leaf
// switches and those above them (schedule/ways.h). The routes say by which path number a host
// reaches which of its leaf's uplinks.
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

// `sends`: of each member the peers it sends to, step by step. A pair that has a path from an
// earlier step keeps it. Gives [from * members + to]
// the path number, below `paths`; 0 where there is no choice. Where no path number leads by the way
// that is wanted, the number of the way is taken. Levels above the first are left to the routes.
base::Result<std::vector<std::uint8_t>> assign_paths(
    const topology::Cluster& cluster, routing::Rule rule, std::uint32_t paths,
    std::span<const base::HostId> members, std::span<const std::vector<base::PeerId>> sends,
    const routing::Settings& settings = {});

}  // namespace alm::plan

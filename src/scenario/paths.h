// Several paths in a simulation: which options are wrong, which paths the plan assigns, what each
// path carried.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "plan/plan.h"
#include "scenario/scenario.h"
#include "transport/config.h"

namespace alm::scenario {

// kBadInput where routing looks at no path numbers, and where there are more of them than
// routes.
base::Status check_paths(const Scenario& scenario, const topology::Cluster& cluster);

// Whether the plan says by which path a block goes.
bool assigns_paths(const Scenario& scenario);

// [from * hosts + to] the path; empty without path_policy `assigned`. `plan_of` makes the plan of a
// host. kBadInput for plans that combine messages.
base::Result<std::vector<std::uint8_t>> assigned_paths(
    const Scenario& scenario, const topology::Cluster& cluster, bool several_phases,
    const std::function<base::Result<plan::Plan>(std::uint32_t host)>& plan_of);

// Data packets by path.
std::vector<std::uint64_t> path_loads(const transport::Counters& counters, std::uint32_t paths);

}  // namespace alm::scenario

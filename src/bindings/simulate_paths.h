// Several paths in a simulation: what is refused, what the plan assigns, what was counted.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "bindings/simulate_options.h"
#include "plan/plan.h"
#include "transport/config.h"

namespace alm::bindings {

// Throws RaisedError: path numbers that nothing looks at, and more of them than there are ways.
void check_paths(const SimulateOptions& options, const topology::Cluster& cluster);

// Whether the plan says by which path a block goes.
bool assigns_paths(const SimulateOptions& options);

// [from * hosts + to], with path_policy `assigned`; else empty. `plan_of`: of a host. Throws
// RaisedError: plans that combine messages.
std::vector<std::uint8_t> assigned_paths(
    const SimulateOptions& options, const topology::Cluster& cluster, bool several_phases,
    const std::function<base::Result<plan::Plan>(std::uint32_t host)>& plan_of);

// Data packets by path.
std::vector<std::uint64_t> path_loads(const transport::Counters& counters, std::uint32_t paths);

}  // namespace alm::bindings

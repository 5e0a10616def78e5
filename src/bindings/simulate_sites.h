// What exchanges between sites need of a simulation, and what crosses between parts of a network.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "bindings/simulate_options.h"
#include "plan/far.h"
#include "plan/placement.h"
#include "plan/plan.h"
#include "topology/cluster.h"

namespace alm::bindings {

// The same sites, numbered in the order in which they come.
std::vector<std::uint32_t> numbered_from_0(const std::vector<std::uint32_t>& sites);

// Of a phase between sites. What differs from pair to pair is spread over the time that all of it
// needs, `limit_seconds`.
plan::FarLoad far_load(const SimulateOptions& options, const topology::Cluster& cluster,
                       const plan::FarTuner& tuner, const plan::Phase& phase, double limit_seconds);

// Of each level of the network: blocks that cross from one part to another, by those that have to.
// 1 where none crosses twice. Empty without sites, and where ranks are many. `leaf_of`: of hosts.
nanobind::dict crossings_of(
    const SimulateOptions& options, const plan::LeafOf& leaf_of, const plan::Placement& placement,
    const std::function<base::Result<plan::Plan>(std::uint32_t rank)>& plan_of);

}  // namespace alm::bindings

// For simulations with sites: the load of phases between sites, and how many blocks cross the
// levels of a network.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "scenario/options.h"
#include "plan/far.h"
#include "plan/placement.h"
#include "plan/plan.h"
#include "topology/cluster.h"

namespace alm::bindings {

// Renumbers the sites from 0 in the order of their first appearance.
std::vector<std::uint32_t> numbered_from_0(const std::vector<std::uint32_t>& sites);

// The load of a phase between sites. Blocks that differ are spread over `limit_seconds`, the time
// that the exchange needs.
plan::FarLoad far_load(const SimulateOptions& options, const topology::Cluster& cluster,
                       const plan::FarTuner& tuner, const plan::Phase& phase, double limit_seconds);

// For each level of the network, how often blocks cross from one part to another, divided by the
// crossings that must be: 1 where no block crosses twice. Empty without sites, and with more ranks
// than can be checked quickly. `leaf_of` lies by host.
nanobind::dict crossings_of(
    const SimulateOptions& options, const plan::LeafOf& leaf_of, const plan::Placement& placement,
    const std::function<base::Result<plan::Plan>(std::uint32_t rank)>& plan_of);

}  // namespace alm::bindings

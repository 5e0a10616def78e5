// For simulations with sites: the load of phases between sites, and how many blocks cross the
// levels of a network.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "plan/far.h"
#include "plan/placement.h"
#include "plan/plan.h"
#include "scenario/scenario.h"
#include "topology/cluster.h"

namespace alm::scenario {

// Renumbers the sites from 0 in the order of their first appearance.
std::vector<std::uint32_t> numbered_from_0(const std::vector<std::uint32_t>& sites);

// The load of a phase between sites whose blocks differ: they are spread over `limit_seconds`, the
// time that the exchange needs.
plan::FarLoad far_load(const Scenario& scenario, const topology::Cluster& cluster,
                       const plan::Phase& phase, double limit_seconds);

// How often blocks cross from one part of a level to another, divided by the crossings that must
// be: 1 where no block crosses twice.
struct Crossing {
  std::string level;
  double ratio = 1;
};

// One for each level of the network. Empty without sites, and with more ranks than can be checked
// quickly. `leaf_of` lies by host.
base::Result<std::vector<Crossing>> crossings_of(
    const Scenario& scenario, const plan::LeafOf& leaf_of, const plan::Placement& placement,
    const std::function<base::Result<plan::Plan>(std::uint32_t rank)>& plan_of);

}  // namespace alm::scenario

// Simulates exchanges packet by packet: what `allemande simulate` runs.
#pragma once

#include <functional>

#include "base/result.h"
#include "scenario/options.h"
#include "scenario/outcome.h"
#include "topology/cluster.h"

namespace alm::scenario {

// `progress` gets the share of the data that has come, 0 to 1; false stops the simulation. It may
// be empty. `told`: what the job's own cluster file says, where that is not the network; null: the
// truth. Errors: kBadInput for options that do not fit the cluster, and those of
// harness::simulate_shared.
base::Result<Outcome> simulate(topology::Cluster cluster, const Options& options,
                               const std::function<bool(double)>& progress = {},
                               const topology::Cluster* told = nullptr);

}  // namespace alm::scenario

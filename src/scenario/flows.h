// Simulates one exchange among all hosts as fluid flows (sim/flow.h), by the plan's rounds: what
// `allemande simulate --mode flow` runs.
#pragma once

#include <functional>

#include "base/result.h"
#include "scenario/options.h"
#include "sim/flow.h"
#include "topology/cluster.h"

namespace alm::scenario {

// `progress` gets the part that is done, 0 to 1; false stops the run. kBadInput: flows do not tell
// what this plan takes on this network.
base::Result<sim::FlowResult> simulate_flows(const topology::Cluster& cluster,
                                             const FlowOptions& options,
                                             std::function<bool(double)> progress = {});

}  // namespace alm::scenario

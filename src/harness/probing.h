// The prober on a simulated network: one probe::Rank per host, driven by simulated packets and
// time.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "probe/experiment.h"
#include "sim/options.h"
#include "topology/cluster.h"

namespace alm::harness {

struct ProbeRequest {
  const topology::Cluster* cluster = nullptr;
  const probe::Experiment* experiment = nullptr;  // of the cluster's hosts
  std::uint32_t overhead_bytes = 42;              // around a datagram on the link
  sim::Options network;
};

// What each host has seen; all clocks are the simulator's. kBadInput for what cannot be simulated.
base::Result<std::vector<probe::Log>> simulate_probe(const ProbeRequest& request);

}  // namespace alm::harness

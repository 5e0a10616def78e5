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
  const probe::Experiment* experiment = nullptr;  // ranks are the cluster's hosts
  std::uint32_t overhead_bytes = 42;              // of headers around a datagram on the link
  sim::Options network;
};

// [host] its log; all clocks are the simulator's. kBadInput: the request cannot be simulated.
base::Result<std::vector<probe::Log>> simulate_probe(const ProbeRequest& request);

}  // namespace alm::harness

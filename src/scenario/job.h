// One job of a simulation: how its ranks are configured, from the options and the cluster.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "scenario/options.h"
#include "harness/simulation.h"
#include "plan/far.h"
#include "plan/placement.h"
#include "plan/plan.h"

namespace alm::bindings {

// The limit of the exchange. 0 for pairs and stages, where Python adds up the limits of the stages.
// `combines`: messages hold several blocks.
double limit_seconds(const SimulateOptions& options, const topology::Cluster& cluster,
                     bool combines);

// The options of one job among several.
SimulateOptions of_job(const SimulateOptions& options, std::uint32_t job);

// Must outlive the request that request() makes.
struct Job {
  SimulateOptions options;
  transport::Config config;
  plan::LeafOf leaf_of;
  std::vector<std::uint64_t> of_hosts;
  bool steps = false;
  plan::Placement placement;
  bool combines = false;
  double limit = 0;
  std::vector<std::uint8_t> paths;  // [from * hosts + to]; empty: the plans assign none
  const topology::Cluster& network;
  std::vector<base::HostId> host_of;  // [rank]
  std::optional<plan::FarTuner> far;  // set if some phase is between sites
  bool together = false;              // multi-site, and the blocks are small enough to be combined

  Job(const SimulateOptions& asked, const topology::Cluster& cluster);
  plan::Request plan_request(std::uint32_t host) const;
  // Phases within and between sites have windows and timers of their own.
  void configure_phase(const plan::Phase& phase, transport::Config& changed) const;
  base::Result<plan::Plan> plan(std::uint32_t rank) const;
  harness::SimRequest request(const topology::Cluster& cluster) const;
};

}  // namespace alm::bindings

// One job of a scenario: how its ranks are configured, from the options and the cluster.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "execute/configuration.h"
#include "harness/simulation.h"
#include "plan/placement.h"
#include "plan/plan.h"
#include "scenario/scenario.h"
#include "transport/config.h"

namespace alm::scenario {

// The limit of the exchange. 0 for pairs and stages: whoever makes the stages adds up theirs.
// `combines`: messages hold several blocks.
double limit_seconds(const Scenario& scenario, const topology::Cluster& cluster, bool combines);

// Must outlive the request that request() makes.
struct Job {
  Scenario scenario;
  const topology::Cluster& cluster;
  const topology::Cluster& told;  // what the job's own cluster file says
  std::vector<base::HostId> told_hosts;
  transport::Config config;
  plan::LeafOf leaf_of;
  plan::Permutation permutation{};
  plan::Placement placement;
  std::vector<base::HostId> host_of;                  // [rank]
  std::vector<std::uint64_t> of_hosts;                // the matrix of the hosts
  std::optional<execute::PhaseConfiguration> phases;  // set if some phase is between sites
  bool together = false;                              // multi-site, and the blocks are small enough
  bool combines = false;
  double limit = 0;  // seconds
  bool steps = false;
  std::vector<std::uint8_t> paths;  // [from * hosts + to]; empty: the plans assign none

  // Both clusters must outlive the job. kBadInput: `told` does not name all hosts.
  static base::Result<Job> make(Scenario scenario, const topology::Cluster& cluster,
                                const topology::Cluster& told);

  base::Result<plan::Plan> plan(std::uint32_t rank) const;
  harness::SimRequest request() const;

 private:
  Job(Scenario asked, const topology::Cluster& network, const topology::Cluster& told,
      std::vector<base::HostId> told_hosts);
  plan::Request plan_request(std::uint32_t host) const;
  // What the file says that a rank's host can carry.
  clocks::RateClaim claim_of(std::uint32_t rank) const;
  // Phases within and between sites have windows and timers of their own.
  void configure_phase(const plan::Phase& phase, transport::Config& changed) const;
};

}  // namespace alm::scenario

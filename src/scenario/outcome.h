// What came out of a simulation of packets.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "harness/simulation.h"
#include "scenario/job.h"
#include "scenario/sites.h"
#include "sim/trace.h"

namespace alm::scenario {

// What each job and each background flow got of a shared network, and what a fair share would be.
struct Shares {
  struct Job {
    double time_s = 0;
    std::vector<double> exchange_s;
    std::uint64_t data_packets = 0, retransmitted = 0, window_cuts = 0;
  };
  struct Flow {
    std::string from, to;
    double mbit_s = 0, fair_mbit_s = 0;
    std::uint64_t packets = 0, retransmitted = 0, timeouts = 0;
  };
  double fair_share_s = 0;
  double together_fraction = 0;  // the mean over the jobs of the fair share by the time taken
  std::vector<Job> jobs;
  std::vector<Flow> background;
};

struct Outcome {
  std::string algorithm;  // with its shape
  std::vector<std::string> host_order;
  std::uint32_t ranks = 0;
  std::uint64_t size = 0;
  bool combines = false;  // messages hold several blocks
  std::vector<std::string> warnings;
  double time_s = 0;  // the mean of the exchanges, and of the jobs
  double limit_s = 0;
  double fraction_of_limit = 0;
  double simulated_s = 0;
  std::vector<double> exchange_s, rank_time_s;
  std::string bottleneck;
  std::vector<std::string> port_names;    // [port]
  std::vector<std::uint64_t> path_loads;  // data packets by path
  std::uint32_t window_packets = 0, grain_packets = 0;
  // That of one job, or the sum of several. Its times are those of the first job.
  harness::SimResult total;
  std::vector<Crossing> crossings;
  std::optional<Shares> shares;  // where jobs or flows share the network
  std::vector<sim::TraceRecord> trace;
};

// `first` is the first job, `results` are those of all.
base::Result<Outcome> outcome_of(const harness::SharedResult& results, const Job& first);

// What each job and flow got. `combines`: messages hold several blocks.
base::Result<Shares> shares_of(const harness::SharedResult& results, const Scenario& scenario,
                               const topology::Cluster& cluster, bool combines);

double seconds(sim::Picos time);

}  // namespace alm::scenario

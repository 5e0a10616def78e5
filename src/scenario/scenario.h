// What is simulated: the options, with the hosts, links and switches of a cluster in place of their
// names.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "harness/simulation.h"
#include "scenario/options.h"
#include "topology/cluster.h"
#include "transport/config.h"

namespace alm::scenario {

struct Scenario {
  Options asked;                       // what is used as it is
  transport::Config config;            // what is not a matter of the network
  std::vector<base::HostId> hosts;     // in the order of their ranks
  std::vector<std::uint32_t> site_of;  // [host of `hosts`]; empty: the cluster has no sites
  std::vector<std::uint64_t> matrix;   // bytes, [sender * ranks() + receiver]; empty: equal blocks
  // Who sends to whom, as ranks; empty: everybody to everybody.
  std::set<std::pair<std::uint32_t, std::uint32_t>> pairs;
  // Exchanges that differ: the sends of each, sorted; empty: all exchanges are the same.
  struct Send {
    std::uint32_t from = 0, to = 0;
    std::uint64_t bytes = 0;
  };
  std::vector<std::vector<Send>> stages;  // the option `steps`
  std::optional<harness::MessageFlow> messages;
  std::optional<harness::StripedFlow> striped;
  std::optional<harness::TcpFlow> tcp;
  sim::Options network;
  harness::StartJitter jitter;
  std::vector<harness::BulkFlow> background;

  std::uint32_t ranks() const {
    return static_cast<std::uint32_t>(hosts.size()) * asked.ranks_per_host;
  }
  bool complete() const { return matrix.empty() && pairs.empty() && stages.empty(); }
  bool shared() const { return asked.jobs > 1 || !background.empty(); }
  std::uint64_t bytes_in(std::uint32_t stage, std::uint32_t from, std::uint32_t to) const;
  // Bytes from rank to rank in all stages together.
  std::uint64_t bytes(std::uint32_t from, std::uint32_t to) const;
  std::size_t memory_max() const { return asked.memory_max_mib << 20; }
};

// kBadInput: a name that the cluster does not have, or options that contradict each other.
base::Result<Scenario> make_scenario(const topology::Cluster& cluster, Options asked);

// The scenario of one job among several.
Scenario of_job(const Scenario& scenario, std::uint32_t job);

}  // namespace alm::scenario

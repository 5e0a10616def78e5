// The options of a simulation as Python gives them.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness/simulation.h"
#include "plan/plan.h"

namespace alm::bindings {

struct SimulateOptions {
  plan::Algorithm algorithm = plan::Algorithm::kSyncShuffle;
  plan::Permutation permutation = plan::Permutation::kBalanced;
  bool contention_aware = true;
  std::uint32_t omega = 0;
  std::vector<std::uint32_t> shape;  // a grid's lengths or Bruck's radices; empty: the best
  std::uint64_t size = 0;
  std::vector<std::uint64_t> matrix;  // bytes, [sender * ranks() + receiver]; empty: `size` each
  bool uneven_steps = true;           // steps made for the matrix, where that pays (plan/uneven.h)
  std::uint32_t exchanges = 1;
  std::uint32_t window_packets = 0;  // 0: tune()
  bool window_with_acks = false;
  std::uint32_t grain_packets = 0;   // 0: tune()
  std::uint32_t datagram_bytes = 0;  // 0: what the MTU holds
  transport::Config config;          // what is not a matter of the network
  std::vector<base::HostId> hosts;   // in the order of their ranks
  std::uint32_t ranks_per_host = 1;
  std::vector<std::uint32_t> site_of;  // [host of `hosts`]; empty: the cluster has no sites
  std::uint32_t ranks() const { return static_cast<std::uint32_t>(hosts.size()) * ranks_per_host; }
  // Who sends to whom, as ranks; empty: everybody to everybody.
  std::set<std::pair<std::uint32_t, std::uint32_t>> pairs;
  // Exchanges that differ: the sends of each, sorted; empty: all exchanges are the same.
  struct Send {
    std::uint32_t from = 0, to = 0;
    std::uint64_t bytes = 0;
  };
  std::vector<std::vector<Send>> stages;  // the key `steps`
  std::uint64_t bytes_in(std::uint32_t stage, std::uint32_t from, std::uint32_t to) const;
  bool complete() const { return matrix.empty() && pairs.empty() && stages.empty(); }
  // Bytes from rank to rank in all stages together.
  std::uint64_t bytes(std::uint32_t from, std::uint32_t to) const {
    if (!stages.empty()) {
      std::uint64_t sum = 0;
      for (std::uint32_t stage = 0; stage < stages.size(); ++stage) {
        sum += bytes_in(stage, from, to);
      }
      return sum;
    }
    if (!matrix.empty()) return matrix[from * std::size_t{ranks()} + to];
    return pairs.empty() || pairs.count({from, to}) > 0 ? size : 0;
  }
  std::optional<harness::MessageFlow> messages;
  std::optional<harness::StripedFlow> striped;
  sim::Options network;
  harness::StartJitter jitter;
  std::uint32_t jobs = 1;
  bool split_jobs = false;  // each job has every jobs-th host; otherwise all have all
  std::uint64_t seed = 1;
  std::vector<harness::BulkFlow> background;
  bool shared() const { return jobs > 1 || !background.empty(); }
  bool trace = false;
  std::size_t memory_max = std::size_t{16} << 30;
};

// Throws RaisedError for an unknown key, a value out of range or an unknown name.
SimulateOptions read_simulate_options(const topology::Cluster& cluster,
                                      const nanobind::dict& options);

}  // namespace alm::bindings

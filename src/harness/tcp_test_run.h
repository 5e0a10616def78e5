// For tests: exchanges of stock algorithms over TCP.
#pragma once

#include <string>
#include <utility>

#include "harness/simulation.h"
#include "harness/simulation_test_run.h"

namespace alm::harness {

inline SimRequest over_tcp(const topology::Cluster& cluster, std::string algorithm,
                           std::uint64_t bytes) {
  SimRequest out;
  out.cluster = &cluster;
  out.bytes = bytes;
  out.tcp = TcpFlow{.algorithm = std::move(algorithm), .config = {.segment_bytes = 0}};
  out.together = true;
  return out;
}

// Hosts on one switch.
inline topology::Cluster one_switch(std::uint32_t hosts, double mbit_s, std::uint32_t queue) {
  return topology::build_tree(
      {.groups = {hosts}, .host_mbit_s = mbit_s, .host_queue_packets = queue});
}

}  // namespace alm::harness

// Streams between pairs of hosts: one message after another, without waiting for anything but the
// network. Fast Messages sends so (001): the next message is offered as soon as the card takes it,
// and only back-pressure holds it up.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "sim/options.h"
#include "sim/simulator.h"
#include "topology/cluster.h"

namespace alm::harness {

struct Stream {
  std::uint32_t from = 0, to = 0;  // hosts
};

struct StreamRequest {
  const topology::Cluster* cluster = nullptr;
  std::vector<Stream> streams;  // at most one from each host
  std::uint64_t message_bytes =
      0;  // cut into packets of `packet_bytes`, the last as short as it is
  std::uint32_t packet_bytes = 0;
  std::uint32_t overhead_bytes = 0;  // around a packet on the link
  sim::Picos warm_up = 0;            // bytes that come before it ends are not counted
  sim::Picos duration = 0;           // after the warm-up
  sim::Options network;
};

struct StreamResult {
  std::vector<double> bit_s;          // by stream: bytes of messages that have come
  std::vector<sim::PortStats> ports;  // since the beginning, warm-up included
};

// kBadInput for what cannot be simulated; kTimeout when ports wait for each other.
base::Result<StreamResult> simulate_streams(const StreamRequest& request);

}  // namespace alm::harness

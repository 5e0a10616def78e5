// What the transport needs to know about the network, from the cluster file (docs/references.md
// section 3).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "topology/cluster.h"

namespace alm::plan {

// Every port in the network that packets of the exchange queue at is looked at; the one that allows
// the smallest window counts. A host's own queue is left out: it stops its sender, it loses
// nothing.
struct Tuning {
  double nu = 1;  // packets per step towards the most contended port (Eq 3)
  // The window to use. floor(B_L / nu) (Eq 4), acks riding on data. Where nu * c1 > c2 the uplink
  // itself is the limit and everything outstanding can gather at it: then floor((B_L - 3) / d1),
  // which leaves room for acknowledgements. Ports that cannot fill up do not count (tune.cc).
  std::uint32_t window_packets = 1;
  // An exchange in which no rank sends more packets than this needs no window: it fits the queues.
  std::uint32_t burst_packets = 0;
  std::uint32_t window_with_acks = 1;    // floor(B_L / 2 nu): every packet acknowledged by one
  std::uint32_t window_packets_min = 1;  // ceil(L / g): below it the window costs bandwidth
  std::uint32_t grain_packets = 1;       // train length from rate and window
  double host_rate_mbit_s = 0;           // the slowest participant's host link
  double packet_time_us = 0;             // one full frame on that link
  std::uint32_t mtu_bytes = 1500;
  double latency_us = 0;              // L: one full frame over the longest way, idle network
  std::string contended_port;         // "leaf0 -> core", with the queue that gives the window
  std::vector<std::string> warnings;  // where window and network do not go together
};
Tuning tune(const topology::Cluster& cluster, std::span<const base::HostId> hosts);

}  // namespace alm::plan

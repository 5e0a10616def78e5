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
  // The window to use: what is under way to the limit, and beyond it what queues take (tune.cc).
  // Never below window_packets_min where window_packets_max allows it.
  std::uint32_t window_packets = 1;
  // An exchange in which no rank sends more packets than this needs no window: it fits the queues.
  std::uint32_t burst_packets = 0;
  std::uint32_t window_with_acks = 1;  // floor(B_L / 2 nu): every packet acknowledged by one
  // The bounds of the papers: below ceil(L / g) a host that sends at full rate is not kept busy,
  // above floor(B_L / nu) (Eq 4) packets may be lost. 0: nothing is, whatever the window.
  std::uint32_t window_packets_min = 1;
  std::uint32_t window_packets_max = 0;
  std::uint32_t grain_packets = 1;  // train length from rate and window
  double host_rate_mbit_s = 0;      // the slowest participant's host link
  double packet_time_us = 0;        // one full frame on that link
  std::uint32_t mtu_bytes = 1500;
  double latency_us = 0;              // L: one full frame over the longest way, idle network
  std::string contended_port;         // "leaf0 -> core", with the queue that gives the window
  std::vector<std::string> warnings;  // where window and network do not go together
};
Tuning tune(const topology::Cluster& cluster, std::span<const base::HostId> hosts);

}  // namespace alm::plan

// Derives the settings of the transport from the cluster file (docs/references.md section 3).
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "topology/cluster.h"

namespace alm::plan {

// The port that allows the smallest window counts, of all ports at which packets of the exchange
// queue (plan/ports.h).
struct Tuning {
  double nu = 1;  // packets per step towards the most contended port (Eq 3)
  // The window to use: the packets that keep the limiting link busy, and those that queues can hold
  // besides (tune.cc). Never below window_packets_min if window_packets_max allows that.
  std::uint32_t window_packets = 1;
  // The window where every block is a single packet: what is lost there takes longer than the
  // exchange. 0: as for others.
  std::uint32_t single_window_packets = 0;
  // An exchange in which no rank sends more packets fits the queues, and needs no window.
  std::uint32_t burst_packets = 0;
  std::uint32_t window_with_acks = 1;  // floor(B_L / 2 nu): every packet has an ack of its own
  // The bounds of the papers: a window below ceil(L / g) does not keep a host busy, one above
  // floor(B_L / nu) (Eq 4) may lose packets. window_packets_max 0: no window loses packets.
  std::uint32_t window_packets_min = 1;
  std::uint32_t window_packets_max = 0;
  std::uint32_t grain_packets = 1;  // train length, from rate, window and Eq 4
  double host_rate_mbit_s = 0;      // the slowest participant's host link
  double packet_time_us = 0;        // one full frame on that link
  std::uint32_t mtu_bytes = 1500;
  double latency_us = 0;              // L: one full frame over the longest route, idle network
  std::string contended_port;         // "leaf0 -> core", with the queue that gives the window
  std::vector<std::string> warnings;  // for networks whose queues may lose what is under way

  // Packets of the window that may be anywhere at once without a loss.
  std::uint32_t held_packets() const {
    return window_packets_max == 0 ? window_packets : std::min(window_packets, window_packets_max);
  }
};
Tuning tune(const topology::Cluster& cluster, std::span<const base::HostId> hosts);

}  // namespace alm::plan

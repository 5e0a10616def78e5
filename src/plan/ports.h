// The ports at which packets of a complete exchange queue, and how many come to each.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "topology/cluster.h"

namespace alm::plan {

inline constexpr double kTolerance = 1e-9;  // of rates computed in two ways

struct Port {
  std::string name;  // "leaf0 -> core"
  double queue = 0;  // B_L, in packets
  double nu = 0;     // packets per step towards it (Eq 3)
  double hosts = 0;  // on the smaller side of the link: so many may have packets there at once
  double load = 0;   // nu times the rate of a host / the port's rate; 0 for a pool
  bool to_host = false;
  bool waits = false;  // the switch uses back-pressure and loses nothing
  // False: it sends as fast as its switch receives, and has a place for each input.
  bool fills_up = true;
  // The switch has input buffers: head-of-line blocking.
  bool input_buffered = false;
  bool pool = false;  // it stands for the buffer that all ports of a switch share
};

// Egress ports of switches, one per direction of a link. A host's own queue is left out: it stops
// its sender and loses nothing. Links of a switch that lie on cycles are taken as alternatives with
// equal parts of the load. Hosts send at `host_mbit_s`.
std::vector<Port> ports_of(const topology::Cluster& cluster, std::span<const base::HostId> hosts,
                           double host_mbit_s);

}  // namespace alm::plan

// The ports that packets of a complete exchange queue at, and how much comes to each.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "topology/cluster.h"

namespace alm::plan {

struct Port {
  std::string name;  // "leaf0 -> core"
  double queue = 0;  // places, B_L
  double nu = 0;     // packets per step towards it (Eq 3)
  double hosts =
      0;            // whose packets may all be there at once: those on the smaller side of the link
  double load = 0;  // nu times the rate of a host, as a part of its own rate; 0: of a pool
  bool to_host = false;
  bool waits = false;  // the switch makes others wait and loses nothing
  // Sends as fast as its switch receives, and has a place for each input: it never fills up.
  bool fills_up = true;
  // Of an input-buffered switch the head of the line waits, whichever port it is for.
  bool input_buffered = false;
  bool pool = false;  // the buffer that all ports of a switch share
};

// Egress ports of switches. A host's own queue is left out: it stops its sender, it loses nothing.
// Each link has two, one per direction. Links of a switch that are on a cycle are alternatives to
// each other and take equal parts. `host_mbit_s`: at which hosts send.
std::vector<Port> ports_of(const topology::Cluster& cluster, std::span<const base::HostId> hosts,
                           double host_mbit_s);

}  // namespace alm::plan

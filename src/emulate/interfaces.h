// The interfaces of a lab's hosts. The simulator takes each interface for a host, so that a host
// with several links counts several times. The first interfaces of all hosts come first, in the
// order of the cluster file, then the second ones, and so on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "topology/cluster.h"

namespace alm::emulate {

struct Interface {
  std::uint32_t host = 0;    // in the order of the cluster file
  std::uint32_t number = 0;  // among the links of its host, in the order of the file
};

// The name of its device in the emulator's namespace: e{host}.{number}.
std::string device_name(const Interface& interface);

std::vector<Interface> interfaces_of(const topology::Cluster& cluster);

// The same network with a host for each interface. Links keep their numbers.
topology::Cluster split_hosts(const topology::Cluster& cluster);

}  // namespace alm::emulate

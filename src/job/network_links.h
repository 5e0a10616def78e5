// What the kernel says of this host's network interfaces, for nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "job/local_addresses.h"

namespace alm::job {

struct NetworkLink {
  InterfaceAddress address;
  std::string interface;
  std::uint32_t mbit_s = 0;     // 0: the interface does not say
  std::uint32_t mtu_bytes = 0;  // 0: likewise
};

// The interfaces of interface_addresses(), in the same order, one for each address. `sysfs` is
// /sys/class/net but in tests.
std::vector<NetworkLink> network_links(const std::string& sysfs = "/sys/class/net");

}  // namespace alm::job

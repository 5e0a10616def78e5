// Links of the hosts that paths may go round without a cluster file: each host has an address in
// several subnets that all hosts share, and there its devices are equally fast.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "job/agreement.h"
#include "job/local_addresses.h"

namespace alm::job {

// What an address belongs to.
struct LinkDevice {
  std::string name;   // of the interface
  double mbit_s = 0;  // 0: not known
};

// Bit i: addresses[i] is the first of a device that is as fast as the fastest one.
std::uint8_t fastest_devices(std::span<const InterfaceAddress> addresses,
                             const std::function<LinkDevice(const InterfaceAddress&)>& device_of);

// The addresses of this rank's host by which packets may leave, in the same order of subnets on
// every rank; fewer than two: there are no such links. Pure.
std::vector<InterfaceAddress> alike_links(std::span<const JobRecord> records, std::uint32_t rank);

}  // namespace alm::job

// Which of a host's addresses the other hosts can reach it by.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace alm::job {

// An address of an interface that is up and not loopback. Trivially copyable: it is sent to others.
struct InterfaceAddress {
  std::uint8_t family = 0;  // AF_INET, AF_INET6; 0: none
  std::uint8_t prefix_bits = 0;
  std::array<std::uint8_t, 16> bytes{};

  friend bool operator==(const InterfaceAddress&, const InterfaceAddress&) = default;
};

std::string to_string(const InterfaceAddress& address);  // numeric

// IPv4 first, then those of the fastest interfaces (what says nothing of its speed, as virtual ones
// do, counts as 1 Gbit/s), then in the kernel's order; no link-local ones.
std::vector<InterfaceAddress> interface_addresses();
std::string interface_of(const InterfaceAddress& address);  // its name; empty: none has it
InterfaceAddress subnet_of(InterfaceAddress address);       // without the bits of the host
bool same_subnet(const InterfaceAddress& a, const InterfaceAddress& b);

}  // namespace alm::job

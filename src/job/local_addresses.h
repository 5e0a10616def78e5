// Which of a host's addresses the other hosts can reach it by.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
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
std::vector<InterfaceAddress> interface_addresses();     // IPv4 first, no link-local ones
bool same_subnet(const InterfaceAddress& a, const InterfaceAddress& b);

// The first of `mine` whose subnet holds an address of every other host. An address that another
// host has as well (a container bridge, the same on every host) is skipped.
std::optional<InterfaceAddress> common_subnet_address(
    std::span<const InterfaceAddress> mine, std::span<const std::vector<InterfaceAddress>> others);

}  // namespace alm::job

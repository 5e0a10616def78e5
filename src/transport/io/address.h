// Socket addresses, and what the kernel knows about them: interface, route, MTU.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>

#include "base/result.h"

namespace alm::io {

struct Address {
  sockaddr_storage storage{};
  socklen_t length = 0;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  int family() const { return storage.ss_family; }
};

bool operator==(const Address& a, const Address& b);

// `numeric` is an IPv4 or IPv6 address without a port; a link-local one carries its zone
// ("fe80::1%eth0").
base::Result<Address> make_address(const std::string& numeric, std::uint16_t port);
std::string to_string(const Address& address);  // with port: 198.18.0.1:4711, [fd00::1]:4711
std::string to_numeric_string(const Address& address);  // without
std::uint16_t port_of(const Address& address);
bool is_loopback(const Address& address);

// The address of `interface`, or of the route to `peer` (numeric, or a name) or, if both are empty,
// of the default route. Never loopback, unless `peer` is written as a loopback address.
base::Result<std::string> choose_local_address(const std::string& interface,
                                               const std::string& peer);

// MTU of the interface that carries `local`.
base::Result<std::uint32_t> interface_mtu(const Address& local);

// What the interface that carries `local` says of its speed, in Mbit/s; 0: nothing that counts.
// Interfaces without a device, as those of containers and virtual networks, have made it up.
// `interfaces`: the folder with one for each interface.
double interface_speed(const Address& local, const std::string& interfaces = "/sys/class/net");

}  // namespace alm::io

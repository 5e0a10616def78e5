#include "job/local_addresses.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>

namespace alm::job {
namespace {

std::size_t length_of(std::uint8_t family) { return family == AF_INET ? 4 : 16; }

const void* bytes_of(const sockaddr* address) {
  if (address->sa_family == AF_INET)
    return &reinterpret_cast<const sockaddr_in*>(address)->sin_addr;
  return &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
}

std::optional<InterfaceAddress> convert(const ifaddrs& entry) {
  constexpr unsigned kWanted = IFF_UP | IFF_RUNNING;
  if (entry.ifa_addr == nullptr || entry.ifa_netmask == nullptr) return std::nullopt;
  if ((entry.ifa_flags & kWanted) != kWanted || (entry.ifa_flags & IFF_LOOPBACK) != 0) {
    return std::nullopt;
  }
  const auto family = entry.ifa_addr->sa_family;
  if (family != AF_INET && family != AF_INET6) return std::nullopt;

  InterfaceAddress address;
  address.family = static_cast<std::uint8_t>(family);
  std::memcpy(address.bytes.data(), bytes_of(entry.ifa_addr), length_of(address.family));
  // Link-local addresses mean nothing on another link.
  if (family == AF_INET6 && address.bytes[0] == 0xfe && (address.bytes[1] & 0xc0) == 0x80) {
    return std::nullopt;
  }
  const auto* mask = static_cast<const std::uint8_t*>(bytes_of(entry.ifa_netmask));
  for (std::size_t i = 0; i < length_of(address.family); ++i) {
    address.prefix_bits = static_cast<std::uint8_t>(address.prefix_bits + std::popcount(mask[i]));
  }
  return address;
}

}  // namespace

std::string to_string(const InterfaceAddress& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (inet_ntop(address.family, address.bytes.data(), text.data(), text.size()) == nullptr)
    return {};
  return text.data();
}

std::vector<InterfaceAddress> interface_addresses() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, &freeifaddrs);
  std::vector<InterfaceAddress> addresses;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (const auto address = convert(*entry)) addresses.push_back(*address);
  }
  std::stable_partition(addresses.begin(), addresses.end(),
                        [](const auto& address) { return address.family == AF_INET; });
  return addresses;
}

bool same_subnet(const InterfaceAddress& a, const InterfaceAddress& b) {
  if (a.family != b.family || a.prefix_bits != b.prefix_bits) return false;
  const std::size_t whole = a.prefix_bits / 8;
  if (!std::equal(a.bytes.begin(), a.bytes.begin() + whole, b.bytes.begin())) return false;
  const unsigned rest = a.prefix_bits % 8;
  return rest == 0 || ((a.bytes[whole] ^ b.bytes[whole]) >> (8 - rest)) == 0;
}

std::optional<InterfaceAddress> common_subnet_address(
    std::span<const InterfaceAddress> mine, std::span<const std::vector<InterfaceAddress>> others) {
  const auto reaches_all = [&](const InterfaceAddress& address) {
    return std::all_of(others.begin(), others.end(), [&](const auto& other) {
      const bool shared = std::find(other.begin(), other.end(), address) != other.end();
      return !shared && std::any_of(other.begin(), other.end(), [&](const auto& candidate) {
        return same_subnet(address, candidate);
      });
    });
  };
  const auto found = std::find_if(mine.begin(), mine.end(), reaches_all);
  return found == mine.end() ? std::nullopt : std::optional(*found);
}

}  // namespace alm::job

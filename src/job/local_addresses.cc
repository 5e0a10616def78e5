#include "job/local_addresses.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <tuple>
#include <utility>

#include "transport/io/address.h"

namespace alm::job {
namespace {

constexpr double kUntoldMbitS = 1000;

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
  std::vector<std::pair<std::tuple<bool, double>, InterfaceAddress>> ranked;
  for (const InterfaceAddress& address : addresses) {
    const auto known = addresses.size() > 1 ? io::make_address(to_string(address), 0)
                                            : base::Result<io::Address>(io::Address{});
    const double mbit_s =
        known && known.value().length > 0 ? io::interface_speed(known.value()) : 0;
    ranked.push_back({{address.family != AF_INET, mbit_s > 0 ? -mbit_s : -kUntoldMbitS}, address});
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::transform(ranked.begin(), ranked.end(), addresses.begin(),
                 [](const auto& one) { return one.second; });
  return addresses;
}

std::string interface_of(const InterfaceAddress& address) {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, &freeifaddrs);
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (convert(*entry) == address) return entry->ifa_name;
  }
  return {};
}

InterfaceAddress subnet_of(InterfaceAddress address) {
  for (std::size_t bit = address.prefix_bits; bit < 8 * address.bytes.size(); ++bit) {
    address.bytes[bit / 8] &= static_cast<std::uint8_t>(~(0x80u >> bit % 8));
  }
  return address;
}

bool same_subnet(const InterfaceAddress& a, const InterfaceAddress& b) {
  return subnet_of(a) == subnet_of(b);
}

}  // namespace alm::job

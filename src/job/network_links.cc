#include "job/network_links.h"

#include <ifaddrs.h>
#include <netinet/in.h>

#include <cstring>
#include <fstream>
#include <memory>

namespace alm::job {
namespace {

// A file of sysfs that holds one number. Interfaces without a link report -1, or cannot be read.
std::uint32_t number_in(const std::string& path) {
  std::ifstream file(path);
  std::int64_t number = 0;
  if (!(file >> number) || number < 0 || number > UINT32_MAX) return 0;
  return static_cast<std::uint32_t>(number);
}

bool has_address(const ifaddrs& entry, const InterfaceAddress& address) {
  if (entry.ifa_addr == nullptr || entry.ifa_addr->sa_family != address.family) return false;
  const void* bytes = nullptr;
  std::size_t length = 0;
  if (address.family == AF_INET) {
    bytes = &reinterpret_cast<const sockaddr_in*>(entry.ifa_addr)->sin_addr;
    length = sizeof(in_addr);
  } else {
    bytes = &reinterpret_cast<const sockaddr_in6*>(entry.ifa_addr)->sin6_addr;
    length = sizeof(in6_addr);
  }
  return std::memcmp(bytes, address.bytes.data(), length) == 0;
}

}  // namespace

std::vector<NetworkLink> network_links(const std::string& sysfs) {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, &freeifaddrs);
  std::vector<NetworkLink> links;
  for (const InterfaceAddress& address : interface_addresses()) {
    NetworkLink& link = links.emplace_back();
    link.address = address;
    for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
      if (!has_address(*entry, address)) continue;
      link.interface = entry->ifa_name;
      link.mbit_s = number_in(sysfs + "/" + link.interface + "/speed");
      link.mtu_bytes = number_in(sysfs + "/" + link.interface + "/mtu");
      break;
    }
  }
  return links;
}

}  // namespace alm::job

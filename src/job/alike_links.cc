#include "job/alike_links.h"

#include <algorithm>

namespace alm::job {
namespace {

std::span<const InterfaceAddress> listed_by(const JobRecord& record) {
  return std::span(record.addresses)
      .first(std::min<std::size_t>(record.address_count, kAddressesMax));
}

// The address of a rank's host in the subnet of `address`, if its device there is a fast one.
const InterfaceAddress* fast_neighbour(const JobRecord& record, const InterfaceAddress& address) {
  const auto addresses = listed_by(record);
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    if ((record.fast_addresses >> i & 1) == 0) continue;
    if (same_subnet(addresses[i], address)) return &addresses[i];
  }
  return nullptr;
}

bool joins_all(std::span<const JobRecord> records, const InterfaceAddress& address) {
  return std::all_of(records.begin(), records.end(), [&](const JobRecord& record) {
    const InterfaceAddress* there = fast_neighbour(record, address);
    // Another host with the same address is in another network.
    return there != nullptr && (on_one_host(record, records.front()) == (*there == address));
  });
}

}  // namespace

std::uint8_t fastest_devices(std::span<const InterfaceAddress> addresses,
                             const std::function<LinkDevice(const InterfaceAddress&)>& device_of) {
  std::vector<LinkDevice> devices;
  for (const InterfaceAddress& address : addresses) devices.push_back(device_of(address));
  double fastest = 0;
  for (const LinkDevice& device : devices) fastest = std::max(fastest, device.mbit_s);
  std::uint8_t fast = 0;
  for (std::size_t i = 0; i < devices.size() && fastest > 0; ++i) {
    const auto first = std::find_if(devices.begin(), devices.end(), [&](const LinkDevice& one) {
      return one.name == devices[i].name;
    });
    const bool is_first = static_cast<std::size_t>(first - devices.begin()) == i;
    if (is_first && devices[i].mbit_s == fastest) fast |= static_cast<std::uint8_t>(1u << i);
  }
  return fast;
}

std::vector<InterfaceAddress> alike_links(std::span<const JobRecord> records, std::uint32_t rank) {
  // As the first rank's host lists them.
  std::vector<InterfaceAddress> subnets;
  for (const InterfaceAddress& address : listed_by(records.front())) {
    const InterfaceAddress* fast = fast_neighbour(records.front(), address);
    if (fast == nullptr || !(*fast == address) || !joins_all(records, address)) continue;
    if (!subnets.empty() && address.family != subnets.front().family) continue;
    subnets.push_back(address);
  }
  std::vector<InterfaceAddress> links;
  for (const InterfaceAddress& subnet : subnets) {
    links.push_back(*fast_neighbour(records[rank], subnet));
  }
  return links;
}

}  // namespace alm::job

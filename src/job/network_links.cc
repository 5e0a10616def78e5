#include "job/network_links.h"

#include <fstream>

namespace alm::job {
namespace {

// A file of sysfs that holds one number. Interfaces without a link report -1, or cannot be read.
std::uint32_t number_in(const std::string& path) {
  std::ifstream file(path);
  std::int64_t number = 0;
  if (!(file >> number) || number < 0 || number > UINT32_MAX) return 0;
  return static_cast<std::uint32_t>(number);
}

}  // namespace

std::vector<NetworkLink> network_links(const std::string& sysfs) {
  std::vector<NetworkLink> links;
  for (const InterfaceAddress& address : interface_addresses()) {
    const std::string interface = interface_of(address);
    links.push_back({address, interface, number_in(sysfs + "/" + interface + "/speed"),
                     number_in(sysfs + "/" + interface + "/mtu")});
  }
  return links;
}

}  // namespace alm::job

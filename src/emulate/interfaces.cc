#include "emulate/interfaces.h"

#include <fmt/core.h>

#include <algorithm>

namespace alm::emulate {
namespace {

// By host: how many links it has.
std::vector<std::uint32_t> links_of_hosts(const topology::Cluster& cluster) {
  std::vector<std::uint32_t> count(cluster.host_count(), 0);
  for (const topology::Link& link : cluster.links) {
    for (const topology::NodeId node : {link.from, link.to}) {
      if (cluster.is_host(node)) ++count[node.value];
    }
  }
  return count;
}

}  // namespace

std::string device_name(const Interface& interface) {
  return fmt::format("e{}.{}", interface.host, interface.number);
}

std::vector<Interface> interfaces_of(const topology::Cluster& cluster) {
  const std::vector<std::uint32_t> count = links_of_hosts(cluster);
  const std::uint32_t most = count.empty() ? 0 : *std::max_element(count.begin(), count.end());
  std::vector<Interface> out;
  for (std::uint32_t number = 0; number < most; ++number) {
    for (std::uint32_t host = 0; host < cluster.host_count(); ++host) {
      if (number < count[host]) out.push_back({host, number});
    }
  }
  return out;
}

topology::Cluster split_hosts(const topology::Cluster& cluster) {
  const std::vector<Interface> interfaces = interfaces_of(cluster);
  topology::Cluster out = cluster;
  out.hosts.clear();
  for (const Interface& interface : interfaces) {
    topology::Host host = cluster.hosts[interface.host];
    if (interface.number > 0) host.name += fmt::format(".{}", interface.number);
    host.links = 1;
    host.further.clear();
    out.hosts.push_back(std::move(host));
  }
  const std::uint32_t more = out.host_count() - cluster.host_count();
  std::vector<std::uint32_t> seen(cluster.host_count(), 0);
  const auto renumbered = [&](topology::NodeId node) {
    if (!cluster.is_host(node)) return topology::NodeId{node.value + more};
    const std::uint32_t number = seen[node.value]++;
    const auto same = [&](const Interface& interface) {
      return interface.host == node.value && interface.number == number;
    };
    const auto found = std::find_if(interfaces.begin(), interfaces.end(), same);
    return topology::NodeId{static_cast<std::uint32_t>(found - interfaces.begin())};
  };
  for (topology::Link& link : out.links) {
    link.from = renumbered(link.from);
    link.to = renumbered(link.to);
  }
  return out;
}

}  // namespace alm::emulate

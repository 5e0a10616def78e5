#include "topology/cluster.h"

#include <algorithm>

namespace alm::topology {

std::optional<base::HostId> Cluster::find_host(std::string_view host_name) const {
  const auto it = std::find_if(hosts.begin(), hosts.end(),
                               [&](const Host& host) { return host.name == host_name; });
  if (it == hosts.end()) return std::nullopt;
  return base::HostId{static_cast<std::uint32_t>(it - hosts.begin())};
}

const std::string& Cluster::node_name(NodeId node) const {
  return is_host(node) ? hosts[node.value].name : switches[node.value - hosts.size()].name;
}

std::optional<Cost> cost(const Cluster& cluster) {
  if (!cluster.price) return std::nullopt;
  const Price& price = *cluster.price;
  const std::size_t boxes =
      (cluster.switches.size() + price.switches_per_box - 1) / price.switches_per_box;
  return Cost{.hosts = price.host * static_cast<double>(cluster.hosts.size()),
              .switches = price.switch_box * static_cast<double>(boxes),
              .links = price.link * static_cast<double>(cluster.links.size())};
}

Cluster scaled(const Cluster& cluster, double factor) {
  Cluster result = cluster;
  for (Link& link : result.links) {
    link.rate_up_mbit_s *= factor;
    link.rate_down_mbit_s *= factor;
    link.bidirectional_cap_mbit_s *= factor;
  }
  for (Switch& node : result.switches) node.backplane_mbit_s *= factor;
  return result;
}

}  // namespace alm::topology

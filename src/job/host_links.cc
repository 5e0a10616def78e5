#include "job/host_links.h"

#include <algorithm>

namespace alm::job {
namespace {

std::string_view short_name(std::string_view host) { return host.substr(0, host.find('.')); }

}  // namespace

std::optional<base::HostId> find_host(const topology::Cluster& cluster, std::string_view host) {
  if (const auto id = cluster.find_host(host)) return id;
  if (const auto id = cluster.find_host(short_name(host))) return id;
  for (std::uint32_t i = 0; i < cluster.host_count(); ++i) {
    if (short_name(cluster.hosts[i].name) == short_name(host)) return base::HostId{i};
  }
  return std::nullopt;
}

const topology::Link* find_link(const topology::Cluster& cluster, std::string_view port) {
  const auto names = [&](const topology::Link& link) {
    const std::string& from = cluster.node_name(link.from);
    const std::string& to = cluster.node_name(link.to);
    return port == from + " -> " + to || port == to + " -> " + from;
  };
  const auto found = std::find_if(cluster.links.begin(), cluster.links.end(), names);
  return found == cluster.links.end() ? nullptr : &*found;
}

topology::Host::Nic nic_of(const topology::Host& host, std::size_t link) {
  if (link == 0) return {host.address, host.interface};
  return link <= host.further.size() ? host.further[link - 1] : topology::Host::Nic{};
}

}  // namespace alm::job

#include "job/host_links.h"

#include <algorithm>
#include <limits>
#include <map>
#include <vector>

namespace alm::job {
namespace {

std::string_view short_name(std::string_view host) { return host.substr(0, host.find('.')); }

// In Mbit/s, link by link.
std::map<std::uint32_t, std::vector<double>> rates_of(const topology::Cluster& cluster,
                                                      std::span<const base::HostId> hosts) {
  std::map<std::uint32_t, std::vector<double>> rates;
  for (const base::HostId host : hosts) rates[host.value];
  for (const topology::Link& link : cluster.links) {
    for (const topology::NodeId end : {link.from, link.to}) {
      const auto found = rates.find(end.value);
      if (found == rates.end()) continue;
      found->second.push_back(std::min(link.rate_up_mbit_s, link.rate_down_mbit_s));
    }
  }
  return rates;
}

}  // namespace

std::optional<base::HostId> find_host(const topology::Cluster& cluster, std::string_view host) {
  if (const auto id = cluster.find_host(host)) return id;
  if (const auto id = cluster.find_host(short_name(host))) return id;
  for (std::uint32_t i = 0; i < cluster.host_count(); ++i) {
    if (short_name(cluster.hosts[i].name) == short_name(host)) return base::HostId{i};
  }
  return std::nullopt;
}

LinkClaim claim_of(const topology::Cluster& cluster, base::HostId host, std::size_t first,
                   std::size_t count) {
  LinkClaim claim;
  std::size_t number = 0;
  for (const topology::Link& link : cluster.links) {
    if (link.from.value != host.value && link.to.value != host.value) continue;
    if (number >= first && number < first + count) {
      claim.mbit_s += std::min(link.rate_up_mbit_s, link.rate_down_mbit_s);
      if (claim.line == 0) claim.line = link.line;
    }
    ++number;
  }
  return claim;
}

topology::Host::Nic nic_of(const topology::Host& host, std::size_t link) {
  if (link == 0) return {host.address, host.interface};
  return link <= host.further.size() ? host.further[link - 1] : topology::Host::Nic{};
}

std::size_t fastest_link(const topology::Cluster& cluster, std::span<const base::HostId> hosts) {
  const auto rates = rates_of(cluster, hosts);
  std::size_t best = 0;
  double best_rate = 0;
  for (std::size_t link = 0; link < topology::kHostLinksMax; ++link) {
    double slowest = std::numeric_limits<double>::infinity();
    for (const auto& [host, of_host] : rates) {
      const topology::Host::Nic nic = nic_of(cluster.hosts[host], link);
      const bool usable = link < of_host.size() && !(nic.address.empty() && nic.interface.empty());
      slowest = usable ? std::min(slowest, of_host[link]) : 0;
      if (!usable) break;
    }
    if (slowest > best_rate && slowest < std::numeric_limits<double>::infinity()) {
      best = link;
      best_rate = slowest;
    }
  }
  return best;
}

}  // namespace alm::job

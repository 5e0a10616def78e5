// Where hosts are, and how far from each other.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "topology/graph.h"
#include "topology/site_check.h"

namespace alm::topology {
std::optional<SiteTrouble> trouble_with_sites(const Cluster& cluster) {
  const auto& switches = cluster.switches;
  if (std::all_of(switches.begin(), switches.end(),
                  [](const Switch& node) { return node.site.empty(); })) {
    return std::nullopt;
  }
  const Adjacency adjacency(cluster);
  std::set<std::string> with_hosts;
  for (std::uint32_t host = 0; host < cluster.host_count(); ++host) {
    const std::string* site = nullptr;
    for (const Edge& edge : adjacency[host]) {
      const Switch& at = switches[edge.peer - cluster.host_count()];
      if (at.site.empty()) {
        return SiteTrouble{
            NodeId{edge.peer},
            fmt::format("is missing, but `{}` has hosts and other switches have sites", at.name),
            "the site of every switch with hosts, or of none"};
      }
      if (site != nullptr && *site != at.site) {
        return SiteTrouble{NodeId{host},
                           fmt::format("`{}` is linked to sites `{}` and `{}`",
                                       cluster.hosts[host].name, *site, at.site),
                           "all links of a host at one site"};
      }
      site = &at.site;
    }
    with_hosts.insert(*site);
  }
  for (std::uint32_t i = 0; i < switches.size(); ++i) {
    if (switches[i].site.empty() || with_hosts.count(switches[i].site) > 0) continue;
    return SiteTrouble{NodeId{cluster.host_count() + i},
                       fmt::format("`{}` has no hosts", switches[i].site),
                       "the name of a site with hosts, or no `site`"};
  }
  return std::nullopt;
}

Sites sites(const Cluster& cluster) {
  Sites out;
  const Adjacency adjacency(cluster);
  std::map<std::string, std::uint32_t> numbers;
  for (std::uint32_t host = 0; host < cluster.host_count(); ++host) {
    const std::uint32_t node = adjacency[host].front().peer;
    const std::string& site = cluster.switches[node - cluster.host_count()].site;
    if (site.empty()) return {};
    const auto [it, is_new] =
        numbers.try_emplace(site, static_cast<std::uint32_t>(out.names.size()));
    if (is_new) out.names.push_back(site);
    out.of.push_back(it->second);
  }
  return out;
}

double latency_seconds(const Cluster& cluster, std::span<const base::HostId> hosts) {
  const bool any = std::any_of(cluster.links.begin(), cluster.links.end(),
                               [](const Link& link) { return link.latency_us > 0; });
  if (!any) return 0;
  const Adjacency adjacency(cluster);
  constexpr double kSecondsPerMicro = 1e-6;
  double longest = 0;
  for (const base::HostId from : hosts) {
    const auto times =
        least_times_from(cluster, adjacency, from.value,
                         [](std::uint32_t, const Link& link) { return link.latency_us; });
    for (const base::HostId to : hosts) longest = std::max(longest, times[to.value]);
  }
  return longest * kSecondsPerMicro;
}

}  // namespace alm::topology

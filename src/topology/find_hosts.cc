#include "topology/find_hosts.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "base/hostlist.h"

namespace alm::topology {

std::vector<base::HostId> all_hosts(const Cluster& cluster) {
  std::vector<base::HostId> out;
  for (std::uint32_t i = 0; i < cluster.host_count(); ++i) out.push_back({i});
  return out;
}

base::Result<std::vector<base::HostId>> find_hosts(const Cluster& cluster,
                                                   std::span<const std::string> names) {
  std::vector<base::HostId> out;
  std::unordered_map<std::string_view, std::uint32_t> index;
  for (std::uint32_t i = 0; i < cluster.host_count(); ++i) index[cluster.hosts[i].name] = i;
  for (const std::string& name : names) {
    const auto found = index.find(name);
    if (found == index.end()) {
      std::vector<std::string> valid;
      for (const Host& host : cluster.hosts) valid.push_back(host.name);
      return base::bad_input("cluster `" + cluster.name + "` has no host `" + name +
                             "`; expected " + base::compress_hostlist(valid));
    }
    out.push_back({found->second});
  }
  return out;
}

LinkClaim claim_of(const Cluster& cluster, base::HostId host, std::size_t first,
                   std::size_t count) {
  LinkClaim claim;
  std::size_t number = 0;
  for (const Link& link : cluster.links) {
    if (link.from.value != host.value && link.to.value != host.value) continue;
    if (number >= first && number < first + count) {
      claim.mbit_s += std::min(link.rate_up_mbit_s, link.rate_down_mbit_s);
      if (claim.line == 0) claim.line = link.lines.rate;
    }
    ++number;
  }
  return claim;
}

}  // namespace alm::topology

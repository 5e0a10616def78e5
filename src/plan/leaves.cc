#include "plan/leaves.h"

namespace alm::plan {

LeafOf leaves_of(const topology::Cluster& cluster, std::span<const base::HostId> hosts) {
  LeafOf out;
  for (const auto& of_host : topology::schedule_hierarchy(cluster).level) {
    auto& group = out.emplace_back();
    for (const base::HostId host : hosts) group.push_back(of_host[host.value]);
  }
  return out;
}

}  // namespace alm::plan

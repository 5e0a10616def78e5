#include "model/link_bound.h"

#include <algorithm>
#include <cmath>

namespace alm::model {
namespace {

constexpr double kBytesPerMbit = 1e6 / 8;

}  // namespace

LinkBound::LinkBound(const topology::Cluster& cluster, std::span<const base::HostId> hosts)
    : cluster_(cluster),
      hosts_(hosts.begin(), hosts.end()),
      adjacency_(cluster),
      walk_(topology::walk(cluster, adjacency_)),
      depth_(adjacency_.node_count(), 0),
      tree_(topology::is_tree(cluster)) {
  for (const std::uint32_t node : walk_.order) {
    if (walk_.parent[node] != topology::kNoNode) depth_[node] = depth_[walk_.parent[node]] + 1;
  }
}

double LinkBound::seconds(std::span<const Message> messages, std::uint64_t bytes) const {
  if (!tree_) {
    // Cuts around subtrees and switches, as the topology knows them, of the sums between hosts.
    std::vector<std::uint64_t> traffic(hosts_.size() * hosts_.size(), 0);
    for (const Message& one : messages) {
      traffic[one.from * hosts_.size() + one.to] +=
          static_cast<std::uint64_t>(std::llround(one.blocks * static_cast<double>(bytes)));
    }
    return topology::traffic_limit_seconds(cluster_, hosts_, traffic);
  }
  std::vector<double> up(depth_.size(), 0), down(depth_.size(), 0);
  for (const Message& one : messages) {
    const auto size =
        static_cast<std::uint64_t>(std::llround(one.blocks * static_cast<double>(bytes)));
    const auto framed = static_cast<double>(topology::framed_bytes(cluster_.framing, size));
    std::uint32_t a = hosts_[one.from].value, b = hosts_[one.to].value;
    while (a != b) {
      if (depth_[a] > depth_[b]) {
        up[a] += framed;
        a = walk_.parent[a];
      } else {
        down[b] += framed;
        b = walk_.parent[b];
      }
    }
  }
  double worst = 0;
  for (std::uint32_t node = 0; node < depth_.size(); ++node) {
    if (walk_.parent[node] == topology::kNoNode) continue;
    const topology::Link& link = cluster_.links[walk_.parent_link[node]];
    worst = std::max({worst, up[node] / (topology::rate_from(link, node) * kBytesPerMbit),
                      down[node] / (topology::rate_towards(link, node) * kBytesPerMbit)});
    if (link.bidirectional_cap_mbit_s > 0) {
      worst = std::max(worst,
                       (up[node] + down[node]) / (link.bidirectional_cap_mbit_s * kBytesPerMbit));
    }
  }
  return worst;
}

double LinkBound::complete_seconds(std::uint64_t bytes) const {
  return topology::alltoall_limit_seconds(cluster_, hosts_, bytes);
}

}  // namespace alm::model

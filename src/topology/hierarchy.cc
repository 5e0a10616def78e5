#include <algorithm>
#include <unordered_map>

#include "topology/graph.h"

namespace alm::topology {

base::Result<Hierarchy> hierarchy(const Cluster& cluster) {
  if (cluster.hosts.empty()) return base::bad_input("cluster has no hosts; expected at least one");
  if (!is_tree(cluster)) {
    return base::bad_input("cluster `" + cluster.name +
                           "` is not a tree: its switches are joined by more than one path; "
                           "expected one path between any two hosts");
  }
  const Adjacency adjacency(cluster);
  const Walk tree = walk(cluster, adjacency);
  // Switches above each host, root first.
  std::vector<std::vector<std::uint32_t>> path(cluster.host_count());
  std::size_t depth = 1;
  for (std::uint32_t host = 0; host < cluster.host_count(); ++host) {
    for (std::uint32_t node = tree.parent[host]; node != kNoNode; node = tree.parent[node]) {
      path[host].push_back(node);
    }
    std::reverse(path[host].begin(), path[host].end());
    depth = std::max(depth, path[host].size());
  }
  Hierarchy out;
  out.level.assign(depth, std::vector<std::uint32_t>(cluster.host_count(), 0));
  for (std::size_t l = 0; l < depth; ++l) {
    std::unordered_map<std::uint32_t, std::uint32_t> index;
    for (std::uint32_t host = 0; host < cluster.host_count(); ++host) {
      if (path[host].empty()) continue;  // a lone host without a switch
      const std::uint32_t node = path[host][std::min(depth - 1 - l, path[host].size() - 1)];
      out.level[l][host] =
          index.try_emplace(node, static_cast<std::uint32_t>(index.size())).first->second;
    }
  }
  return out;
}

std::vector<std::vector<std::uint32_t>> Hierarchy::of(std::span<const base::HostId> hosts) const {
  std::vector<std::vector<std::uint32_t>> out;
  for (const auto& of_host : level) {
    auto& group = out.emplace_back();
    for (const base::HostId host : hosts) group.push_back(of_host[host.value]);
  }
  return out;
}

Hierarchy schedule_hierarchy(const Cluster& cluster) {
  if (auto tree = hierarchy(cluster); tree) return std::move(tree).value();
  const Adjacency adjacency(cluster);
  Hierarchy out;
  auto& leaf_of = out.level.emplace_back();
  std::unordered_map<std::uint32_t, std::uint32_t> index;
  for (std::uint32_t host = 0; host < cluster.host_count(); ++host) {
    const std::uint32_t leaf = adjacency[host].front().peer;
    leaf_of.push_back(
        index.try_emplace(leaf, static_cast<std::uint32_t>(index.size())).first->second);
  }
  return out;
}

}  // namespace alm::topology

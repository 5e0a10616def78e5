#include <fmt/core.h>

#include "topology/cluster.h"

namespace alm::topology {
namespace {

class Builder {
 public:
  explicit Builder(const TreeNode& root) {
    count_hosts(root);
    place(root, true);
    cluster_.links.insert(cluster_.links.end(), uplinks_.begin(), uplinks_.end());
  }

  Cluster take() { return std::move(cluster_); }

 private:
  void count_hosts(const TreeNode& node) {
    hosts_ += node.hosts;
    for (const TreeNode& child : node.children) count_hosts(child);
  }

  std::string name_for(const TreeNode& node, bool is_root) {
    if (!node.node.name.empty()) return node.node.name;
    if (node.children.empty()) return fmt::format("leaf{}", leaves_++);
    return is_root ? "core" : fmt::format("mid{}", middles_++);
  }

  // Returns the switch's node: hosts come first among nodes, hence the count beforehand.
  NodeId place(const TreeNode& node, bool is_root) {
    // Children first, so that a switch stands after those below it: leaves, then core.
    const std::uint32_t first_host = static_cast<std::uint32_t>(cluster_.hosts.size());
    for (std::uint32_t i = 0; i < node.hosts; ++i) {
      cluster_.hosts.push_back(
          {.name = fmt::format("h{}", first_host + i), .address = {}, .interface = {}});
    }
    std::vector<Link> uplinks;
    for (const TreeNode& child : node.children) {
      const NodeId below = place(child, false);
      uplinks.push_back({.from = below,
                         .to = {},
                         .rate_up_mbit_s = child.uplink.rate_up_mbit_s,
                         .rate_down_mbit_s = child.uplink.rate_down_mbit_s,
                         .latency_us = child.uplink.latency_us,
                         .queue_up_packets = child.uplink.queue_up_packets,
                         .queue_down_packets = child.uplink.queue_down_packets});
    }
    Switch placed = node.node;
    placed.name = name_for(node, is_root);
    const NodeId self{hosts_ + static_cast<std::uint32_t>(cluster_.switches.size())};
    cluster_.switches.push_back(std::move(placed));
    for (std::uint32_t i = 0; i < node.hosts; ++i) {
      cluster_.links.push_back({.from = NodeId{first_host + i},
                                .to = self,
                                .rate_up_mbit_s = node.host_mbit_s,
                                .rate_down_mbit_s = node.host_mbit_s,
                                .queue_up_packets = kQueueDefaultPackets,
                                .queue_down_packets = node.host_queue_packets});
    }
    for (Link& uplink : uplinks) {
      uplink.to = self;
      uplinks_.push_back(uplink);
    }
    return self;
  }

  Cluster cluster_;
  std::vector<Link> uplinks_;  // after the host links, as people write them
  std::uint32_t hosts_ = 0, leaves_ = 0, middles_ = 0;
};

}  // namespace

Cluster build_tree(const TreeNode& root) {
  Cluster cluster = Builder(root).take();
  cluster.name = "tree";
  return cluster;
}

Cluster build_tree(const TreeSpec& spec) {
  const auto leaf = [&](std::uint32_t hosts) {
    TreeNode node;
    node.hosts = hosts;
    node.host_mbit_s = spec.host_mbit_s;
    node.host_queue_packets = spec.host_queue_packets;
    node.uplink = {.rate_up_mbit_s = spec.uplink_mbit_s,
                   .rate_down_mbit_s = spec.uplink_mbit_s,
                   .latency_us = 0,
                   .queue_up_packets = spec.uplink_queue_packets,
                   .queue_down_packets = spec.core_queue_packets};
    return node;
  };
  if (spec.groups.size() == 1) return build_tree(leaf(spec.groups.front()));
  TreeNode root;
  for (const std::uint32_t hosts : spec.groups) root.children.push_back(leaf(hosts));
  return build_tree(root);
}

Cluster build_one_switch(std::uint32_t hosts) { return build_tree(TreeSpec{.groups = {hosts}}); }

}  // namespace alm::topology

#include "topology/graph.h"

#include <algorithm>
#include <queue>

namespace alm::topology {
namespace {

// Distance of every node to `start`.
std::vector<std::uint32_t> distances(const Adjacency& adjacency, std::uint32_t start) {
  std::vector<std::uint32_t> distance(adjacency.node_count(), kNoNode);
  std::queue<std::uint32_t> queue;
  distance[start] = 0;
  queue.push(start);
  while (!queue.empty()) {
    const std::uint32_t node = queue.front();
    queue.pop();
    for (const Edge& edge : adjacency[node]) {
      if (distance[edge.peer] != kNoNode) continue;
      distance[edge.peer] = distance[node] + 1;
      queue.push(edge.peer);
    }
  }
  return distance;
}

std::uint32_t farthest_host(const Cluster& cluster, const std::vector<std::uint32_t>& distance) {
  const auto end = distance.begin() + cluster.host_count();
  return static_cast<std::uint32_t>(
      std::max_element(distance.begin(), end,
                       [](std::uint32_t a, std::uint32_t b) { return a + 1 < b + 1; }) -
      distance.begin());
}

// The switch in the middle of the longest route between two hosts: the root that makes the tree
// flattest. Between two middles the one with fewer hosts of its own, then the earlier in the file.
std::uint32_t centre(const Cluster& cluster, const Adjacency& adjacency) {
  if (cluster.switches.empty()) return 0;
  const std::uint32_t first_switch = cluster.host_count();
  if (cluster.hosts.empty()) return first_switch;
  const auto from_any = distances(adjacency, first_switch);
  const auto from_one_end = distances(adjacency, farthest_host(cluster, from_any));
  const auto from_other_end = distances(adjacency, farthest_host(cluster, from_one_end));
  const auto rank = [&](std::uint32_t node) {
    std::uint32_t own_hosts = 0;
    for (const Edge& edge : adjacency[node]) own_hosts += edge.peer < first_switch ? 1 : 0;
    return std::pair(std::max(from_one_end[node], from_other_end[node]), own_hosts);
  };
  std::uint32_t best = first_switch;
  for (std::uint32_t node = first_switch + 1; node < adjacency.node_count(); ++node) {
    if (rank(node) < rank(best)) best = node;
  }
  return best;
}

// Depth-first search without recursion (a chain of switches may be long), with Tarjan's low points.
class Search {
 public:
  Search(const Adjacency& adjacency, std::uint32_t root, Walk& out)
      : adjacency_(adjacency),
        out_(out),
        seen_(adjacency.node_count(), kNoNode),
        low_(adjacency.node_count(), kNoNode),
        next_(adjacency.node_count(), 0) {
    enter(root, kNoNode, kNoNode);
    while (!stack_.empty()) step(stack_.back());
  }

 private:
  void enter(std::uint32_t node, std::uint32_t parent, std::uint32_t link) {
    seen_[node] = low_[node] = static_cast<std::uint32_t>(out_.order.size());
    out_.order.push_back(node);
    out_.parent[node] = parent;
    out_.parent_link[node] = link;
    stack_.push_back(node);
  }

  void step(std::uint32_t node) {
    const auto edges = adjacency_[node];
    if (next_[node] < edges.size()) {
      const Edge& edge = edges[next_[node]++];
      if (edge.link == out_.parent_link[node]) return;
      if (seen_[edge.peer] == kNoNode) {
        enter(edge.peer, node, edge.link);
      } else {
        low_[node] = std::min(low_[node], seen_[edge.peer]);
      }
      return;
    }
    stack_.pop_back();
    const std::uint32_t parent = out_.parent[node];
    if (parent == kNoNode) return;
    low_[parent] = std::min(low_[parent], low_[node]);
    out_.bridge[node] = low_[node] > seen_[parent];
    out_.height[parent] = std::max(out_.height[parent], out_.height[node] + 1);
  }

  const Adjacency& adjacency_;
  Walk& out_;
  std::vector<std::uint32_t> seen_, low_, next_, stack_;
};

double capped(double rate, const Link& link) {
  return link.bidirectional_cap_mbit_s > 0 ? std::min(rate, link.bidirectional_cap_mbit_s) : rate;
}

}  // namespace

Adjacency::Adjacency(const Cluster& cluster)
    : edges_(2 * cluster.links.size()),
      begin_(cluster.hosts.size() + cluster.switches.size() + 1, 0) {
  for (const Link& link : cluster.links) {
    ++begin_[link.from.value + 1];
    ++begin_[link.to.value + 1];
  }
  for (std::size_t i = 1; i < begin_.size(); ++i) begin_[i] += begin_[i - 1];
  std::vector<std::uint32_t> fill(begin_.begin(), begin_.end() - 1);
  for (std::uint32_t i = 0; i < cluster.links.size(); ++i) {
    const Link& link = cluster.links[i];
    edges_[fill[link.from.value]++] = {link.to.value, i};
    edges_[fill[link.to.value]++] = {link.from.value, i};
  }
}

NodeId root_switch(const Cluster& cluster) { return NodeId{centre(cluster, Adjacency(cluster))}; }

Walk walk(const Cluster& cluster, const Adjacency& adjacency) {
  const std::uint32_t nodes = adjacency.node_count();
  Walk out;
  out.parent.assign(nodes, kNoNode);
  out.parent_link.assign(nodes, kNoNode);
  out.bridge.assign(nodes, false);
  out.height.assign(nodes, 0);
  // A switch without anything below it is no host.
  for (std::uint32_t node = cluster.host_count(); node < nodes; ++node) out.height[node] = 1;
  if (nodes > 0) Search(adjacency, centre(cluster, adjacency), out);
  return out;
}

std::vector<double> least_times_from(const Cluster& cluster, const Adjacency& adjacency,
                                     std::uint32_t start,
                                     const std::function<double(std::uint32_t, const Link&)>& hop) {
  using Entry = std::pair<double, std::uint32_t>;
  std::vector<double> best(adjacency.node_count(), -1);
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
  open.push({0, start});
  while (!open.empty()) {
    const auto [time, node] = open.top();
    open.pop();
    if (best[node] >= 0) continue;
    best[node] = time;
    if (cluster.is_host(NodeId{node}) && node != start) continue;
    for (const Edge& edge : adjacency[node]) {
      const Link& link = cluster.links[edge.link];
      if (best[edge.peer] < 0 && rate_from(link, node) > 0) {
        open.push({time + hop(node, link), edge.peer});
      }
    }
  }
  return best;
}

bool is_tree(const Cluster& cluster) {
  const std::size_t nodes = cluster.hosts.size() + cluster.switches.size();
  if (cluster.links.size() + 1 != nodes) return false;
  const Adjacency adjacency(cluster);
  return walk(cluster, adjacency).order.size() == nodes;
}

double rate_from(const Link& link, std::uint32_t node) {
  if (link.from.value == node) return capped(link.rate_up_mbit_s, link);
  return link.one_way ? 0 : capped(link.rate_down_mbit_s, link);
}

double rate_towards(const Link& link, std::uint32_t node) {
  if (link.to.value == node) return capped(link.rate_up_mbit_s, link);
  return link.one_way ? 0 : capped(link.rate_down_mbit_s, link);
}

}  // namespace alm::topology

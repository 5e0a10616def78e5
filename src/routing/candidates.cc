#include "routing/candidates.h"

#include <algorithm>
#include <numeric>

namespace alm::routing {
namespace {

using topology::Edge;
using topology::NodeId;

constexpr std::uint32_t kFar = UINT32_MAX;

}  // namespace

std::vector<std::uint32_t> heights(const topology::Cluster& cluster,
                                   const topology::Adjacency& adjacency) {
  std::vector<std::uint32_t> height(adjacency.node_count(), kFar);
  std::vector<std::uint32_t> queue;
  for (std::uint32_t host = 0; host < cluster.host_count(); ++host) {
    height[host] = 0;
    queue.push_back(host);
  }
  for (std::size_t at = 0; at < queue.size(); ++at) {
    for (const Edge& edge : adjacency[queue[at]]) {
      if (height[edge.peer] != kFar) continue;
      height[edge.peer] = height[queue[at]] + 1;
      queue.push_back(edge.peer);
    }
  }
  return height;
}

Candidates::Candidates(const topology::Cluster& cluster, const std::vector<bool>& dead)
    : cluster_(cluster), dead_(dead), adjacency_(cluster) {}

bool Candidates::leads(const Edge& edge, std::uint32_t from) const {
  const topology::Link& link = cluster_.links[edge.link];
  if (link.one_way && link.from.value != from) return false;
  return dead_.empty() || !dead_[edge.link];
}

std::uint32_t Candidates::port(const Edge& edge, std::uint32_t from) const {
  return cluster_.links[edge.link].from.value == from ? up_port(edge.link) : down_port(edge.link);
}

void Candidates::shortest(std::uint32_t host, Ports& ports) {
  distance_.assign(adjacency_.node_count(), kFar);
  queue_.assign(1, host);
  distance_[host] = 0;
  for (std::size_t at = 0; at < queue_.size(); ++at) {
    const std::uint32_t node = queue_[at];
    if (node != host && cluster_.is_host(NodeId{node})) continue;  // hosts forward none
    for (const Edge& edge : adjacency_[node]) {
      if (distance_[edge.peer] != kFar || !leads(edge, edge.peer)) continue;
      distance_[edge.peer] = distance_[node] + 1;
      queue_.push_back(edge.peer);
    }
  }
  ports.resize(cluster_.switches.size());
  for (std::uint32_t i = 0; i < ports.size(); ++i) {
    const std::uint32_t node = cluster_.host_count() + i;
    ports[i].clear();
    if (distance_[node] == kFar) continue;
    for (const Edge& edge : adjacency_[node]) {
      if (distance_[edge.peer] == kFar || distance_[edge.peer] + 1 != distance_[node]) continue;
      if (leads(edge, node)) ports[i].push_back(port(edge, node));
    }
  }
}

void Candidates::rank_nodes() {
  const std::uint32_t first = cluster_.host_count(), nodes = adjacency_.node_count();
  const auto height = heights(cluster_, adjacency_);
  const auto [low, high] = std::minmax_element(height.begin() + first, height.end());
  std::vector<std::uint32_t> level(nodes, kFar);
  queue_.clear();
  for (std::uint32_t node = first; node < nodes; ++node) {
    if (*low == *high ? node != topology::root_switch(cluster_).value : height[node] != *high) {
      continue;
    }
    level[node] = 0;
    queue_.push_back(node);
  }
  for (std::size_t at = 0; at < queue_.size(); ++at) {
    for (const Edge& edge : adjacency_[queue_[at]]) {
      if (edge.peer < first || level[edge.peer] != kFar) continue;
      level[edge.peer] = level[queue_[at]] + 1;
      queue_.push_back(edge.peer);
    }
  }
  top_down_.resize(nodes - first);
  std::iota(top_down_.begin(), top_down_.end(), first);
  std::stable_sort(top_down_.begin(), top_down_.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return level[a] < level[b]; });
  rank_.assign(nodes, kFar);
  for (std::uint32_t i = 0; i < top_down_.size(); ++i) rank_[top_down_[i]] = i;
}

void Candidates::up_down(std::uint32_t host, Ports& ports) {
  if (rank_.empty()) rank_nodes();
  std::vector<std::uint32_t> down(adjacency_.node_count(), kFar);
  down[host] = 0;
  queue_.assign(1, host);
  for (std::size_t at = 0; at < queue_.size(); ++at) {
    const std::uint32_t node = queue_[at];
    for (const Edge& edge : adjacency_[node]) {
      if (cluster_.is_host(NodeId{edge.peer}) || down[edge.peer] != kFar) continue;
      if (!is_up(node, edge.peer) || !leads(edge, edge.peer)) continue;
      down[edge.peer] = down[node] + 1;
      queue_.push_back(edge.peer);
    }
  }
  distance_ = down;
  ports.resize(cluster_.switches.size());
  for (const std::uint32_t node : top_down_) {
    auto& out = ports[node - cluster_.host_count()];
    out.clear();
    const bool downwards = down[node] != kFar;
    const auto goes = [&](const Edge& edge) {
      if (!leads(edge, node) || (cluster_.is_host(NodeId{edge.peer}) && edge.peer != host)) {
        return false;
      }
      return is_up(node, edge.peer) != downwards;
    };
    const auto& to = downwards ? down : distance_;
    std::uint32_t best = kFar;
    for (const Edge& edge : adjacency_[node]) {
      if (goes(edge)) best = std::min(best, to[edge.peer]);
    }
    if (best == kFar) continue;
    distance_[node] = best + 1;
    for (const Edge& edge : adjacency_[node]) {
      if (goes(edge) && to[edge.peer] == best) out.push_back(port(edge, node));
    }
  }
}

}  // namespace alm::routing

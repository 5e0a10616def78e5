// The cluster as an undirected graph, walked depth first from the centre of its switches.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "topology/cluster.h"

namespace alm::topology {

struct Edge {
  std::uint32_t peer = 0;  // node
  std::uint32_t link = 0;
};

// Edges of each node, in file order.
class Adjacency {
 public:
  explicit Adjacency(const Cluster& cluster);
  std::span<const Edge> operator[](std::uint32_t node) const {
    return std::span(edges_).subspan(begin_[node], begin_[node + 1] - begin_[node]);
  }
  std::uint32_t node_count() const { return static_cast<std::uint32_t>(begin_.size() - 1); }

 private:
  std::vector<Edge> edges_;
  std::vector<std::uint32_t> begin_;
};

inline constexpr std::uint32_t kNoNode = UINT32_MAX;

// A depth-first spanning tree. `bridge[v]`: the link to v's parent is the only route between v's
// subtree and the rest; in a tree every link is.
struct Walk {
  std::vector<std::uint32_t> order;        // nodes, parents before children
  std::vector<std::uint32_t> parent;       // by node; kNoNode at the root
  std::vector<std::uint32_t> parent_link;  // by node
  std::vector<bool> bridge;                // by node; false at the root
  std::vector<std::uint32_t> height;       // by node: 0 for hosts, else 1 + the highest child
};
Walk walk(const Cluster& cluster, const Adjacency& adjacency);

// Whether the graph is a tree: connected, with one link less than nodes.
bool is_tree(const Cluster& cluster);

// By node: the least time from `start` there, where leaving a node by a link takes hop(node, link);
// below 0 where no route leads. Hosts forward nothing. O(links log links).
std::vector<double> least_times_from(const Cluster& cluster, const Adjacency& adjacency,
                                     std::uint32_t start,
                                     const std::function<double(std::uint32_t, const Link&)>& hop);

// The rate of a link away from a node, and towards it. A cap on both directions together also
// bounds each. 0 against the direction of a one-way link.
double rate_from(const Link& link, std::uint32_t node);
double rate_towards(const Link& link, std::uint32_t node);

}  // namespace alm::topology

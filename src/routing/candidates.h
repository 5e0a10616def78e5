// The ports by which a switch may send a packet towards a host: on shortest paths, or on up*/down*
// paths.
#pragma once

#include <cstdint>
#include <vector>

#include "topology/graph.h"

namespace alm::routing {

constexpr std::uint32_t up_port(std::uint32_t link) { return 2 * link; }
constexpr std::uint32_t down_port(std::uint32_t link) { return 2 * link + 1; }
constexpr std::uint32_t reverse(std::uint32_t port) { return port ^ 1; }

// [node] how many links away the nearest host is.
std::vector<std::uint32_t> heights(const topology::Cluster& cluster,
                                   const topology::Adjacency& adjacency);

class Candidates {
 public:
  // Leaves out the links that are true in `dead`, which may be empty.
  Candidates(const topology::Cluster& cluster, const std::vector<bool>& dead);

  // By switch, in file order of links; empty where no path leads from that switch.
  using Ports = std::vector<std::vector<std::uint32_t>>;

  void shortest(std::uint32_t host, Ports& ports);
  // Up*/down* (Autonet): every switch has a rank, and no path goes up again after it went down, so
  // that no circle of ports waits for itself. A switch's rank is its distance to the top: to the
  // switches farthest from hosts, or to the centre where all have hosts. File order breaks ties. A
  // switch that can reach the host downwards does so, because packets from above may only go down.
  void up_down(std::uint32_t host, Ports& ports);

  const topology::Adjacency& adjacency() const { return adjacency_; }
  // Whether the link may be used from this node outwards.
  bool leads(const topology::Edge& edge, std::uint32_t from) const;
  std::uint32_t port(const topology::Edge& edge, std::uint32_t from) const;

 private:
  void rank_nodes();
  bool is_up(std::uint32_t from, std::uint32_t to) const { return rank_[to] < rank_[from]; }

  const topology::Cluster& cluster_;
  const std::vector<bool>& dead_;
  topology::Adjacency adjacency_;
  std::vector<std::uint32_t> distance_, queue_;
  std::vector<std::uint32_t> rank_;      // by node, for up_down(); hosts are below all switches
  std::vector<std::uint32_t> top_down_;  // switches by rank
};

}  // namespace alm::routing

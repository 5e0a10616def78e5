// Routes from outside: of each pair that is named, the switches on the way of each path number.
#include <fmt/core.h>

#include <algorithm>

#include "routing/routes.h"

namespace alm::routing {

base::Status Routes::lay_given(const topology::Cluster& cluster, const Candidates& candidates,
                               const std::vector<GivenWays>& given) {
  const auto name = [&](std::uint32_t node) { return cluster.node_name(topology::NodeId{node}); };
  // The port from one node to the next, kNoPort without a link.
  const auto port_to = [&](std::uint32_t from, std::uint32_t to) {
    for (const topology::Edge& edge : candidates.adjacency()[from]) {
      if (edge.peer == to && candidates.leads(edge, from)) return candidates.port(edge, from);
    }
    return kNoPort;
  };
  std::vector<const GivenWays*> of_pair(std::size_t{hosts_} * hosts_, nullptr);
  for (const GivenWays& ways : given) {
    if (ways.ways.empty()) {
      return base::bad_input(
          fmt::format("no way is given from `{}` to `{}`", name(ways.from), name(ways.to)));
    }
    of_pair[std::size_t{ways.from} * hosts_ + ways.to] = &ways;
  }
  ways_.reserve(of_pair.size());
  for (std::uint32_t from = 0; from < hosts_; ++from) {
    for (std::uint32_t to = 0; to < hosts_; ++to) {
      ways_.push_back({static_cast<std::uint32_t>(begins_.size()), 0});
      if (from == to) continue;
      const GivenWays* ways = of_pair[std::size_t{from} * hosts_ + to];
      if (ways == nullptr) {
        begins_.push_back(static_cast<std::uint32_t>(pool_.size()));
        std::uint32_t flow = 0;
        for (std::uint32_t port = host_port_[from]; end_of_port_[port] != to;) {
          port = next(end_of_port_[port] - hosts_, to, flow);
          pool_.push_back(port);
        }
        ways_.back().count = 1;
        continue;
      }
      for (const std::vector<std::uint32_t>& switches : ways->ways) {
        begins_.push_back(static_cast<std::uint32_t>(pool_.size()));
        std::uint32_t node = from;
        for (std::size_t i = 0; i <= switches.size(); ++i) {
          const std::uint32_t next = i < switches.size() ? hosts_ + switches[i] : to;
          const std::uint32_t port = port_to(node, next);
          if (port == kNoPort) {
            return base::bad_input(
                fmt::format("the way given from `{}` to `{}` leads from `{}` to `{}`, which no "
                            "link joins",
                            name(from), name(to), name(node), name(next)));
          }
          if (node != from) pool_.push_back(port);
          node = next;
        }
        ++ways_.back().count;
      }
    }
  }
  return {};
}

}  // namespace alm::routing

// Routes from outside: of each pair that is named, the switches on the route of each path number.
#include <fmt/core.h>

#include <algorithm>

#include "routing/routes.h"

namespace alm::routing {

base::Status Routes::lay_given(const topology::Cluster& cluster, const Candidates& candidates,
                               const std::vector<GivenRoutes>& given) {
  const auto name = [&](std::uint32_t node) { return cluster.node_name(topology::NodeId{node}); };
  // The port from one node to the next, kNoPort without a link.
  const auto port_to = [&](std::uint32_t from, std::uint32_t to) {
    for (const topology::Edge& edge : candidates.adjacency()[from]) {
      if (edge.peer == to && candidates.leads(edge, from)) return candidates.port(edge, from);
    }
    return kNoPort;
  };
  std::vector<const GivenRoutes*> of_pair(std::size_t{hosts_} * hosts_, nullptr);
  for (const GivenRoutes& pair : given) {
    if (pair.routes.empty()) {
      return base::bad_input(
          fmt::format("no route is given from `{}` to `{}`", name(pair.from), name(pair.to)));
    }
    of_pair[std::size_t{pair.from} * hosts_ + pair.to] = &pair;
  }
  given_routes_.reserve(of_pair.size());
  for (std::uint32_t from = 0; from < hosts_; ++from) {
    for (std::uint32_t to = 0; to < hosts_; ++to) {
      given_routes_.push_back({static_cast<std::uint32_t>(begins_.size()), 0});
      if (from == to) continue;
      const GivenRoutes* pair = of_pair[std::size_t{from} * hosts_ + to];
      if (pair == nullptr) {
        begins_.push_back(static_cast<std::uint32_t>(pool_.size()));
        std::uint32_t flow = 0;
        for (std::uint32_t port = host_port_[from]; end_of_port_[port] != to;) {
          port = next(end_of_port_[port] - hosts_, to, flow);
          pool_.push_back(port);
        }
        given_routes_.back().count = 1;
        continue;
      }
      for (const std::vector<std::uint32_t>& switches : pair->routes) {
        begins_.push_back(static_cast<std::uint32_t>(pool_.size()));
        std::uint32_t node = from;
        for (std::size_t i = 0; i <= switches.size(); ++i) {
          const std::uint32_t next = i < switches.size() ? hosts_ + switches[i] : to;
          const std::uint32_t port = port_to(node, next);
          if (port == kNoPort) {
            return base::bad_input(
                fmt::format("the route given from `{}` to `{}` leads from `{}` to `{}`, which no "
                            "link joins",
                            name(from), name(to), name(node), name(next)));
          }
          if (node != from) pool_.push_back(port);
          node = next;
        }
        ++given_routes_.back().count;
      }
    }
  }
  return {};
}

}  // namespace alm::routing

// The two routes of Fast Messages (001 section 4), laid pair by pair in file order.
//
// The first is a shortest one; of several, that whose links earlier routes use least. For the
// second, the first one's links count as full: it is the shortest of those without them, be it
// longer or not, where there is one, and else the first again. Two hosts of one switch have no link
// between switches that could be full; theirs is the "needless loop" the paper tells of, to the
// neighbour with the least used links and back.
#include <fmt/core.h>

#include <algorithm>
#include <queue>

#include "routing/routes.h"

namespace alm::routing {
namespace {

using topology::Edge;

constexpr std::uint32_t kHostsMax = 512;  // pairs are routed one by one

class Laying {
 public:
  Laying(const Candidates& candidates, std::uint32_t hosts, std::size_t ports)
      : candidates_(candidates), hosts_(hosts), used_(ports, 0), full_(ports, false) {}

  using Ports = std::vector<std::uint32_t>;

  // Ports between two switches; empty where none are left or they are one.
  Ports lay(std::uint32_t from, std::uint32_t to) {
    const std::uint32_t nodes = candidates_.adjacency().node_count();
    best_.assign(nodes, {UINT32_MAX, 0});
    came_by_.assign(nodes, UINT32_MAX);
    came_from_.assign(nodes, UINT32_MAX);
    using Open = std::pair<Cost, std::uint32_t>;
    std::priority_queue<Open, std::vector<Open>, std::greater<>> open;
    best_[from] = {0, 0};
    open.push({best_[from], from});
    while (!open.empty()) {
      const auto [cost, node] = open.top();
      open.pop();
      if (cost != best_[node]) continue;
      if (node == to) break;
      for (const Edge& edge : candidates_.adjacency()[node]) {
        if (edge.peer < hosts_ || !candidates_.leads(edge, node)) continue;
        const std::uint32_t port = candidates_.port(edge, node);
        if (full_[port]) continue;
        const Cost reached{cost.first + 1, cost.second + used_[port]};
        if (reached >= best_[edge.peer]) continue;
        best_[edge.peer] = reached;
        came_by_[edge.peer] = port;
        came_from_[edge.peer] = node;
        open.push({reached, edge.peer});
      }
    }
    Ports out;
    if (came_by_[to] == UINT32_MAX) return out;
    for (std::uint32_t node = to; node != from; node = came_from_[node]) {
      out.push_back(came_by_[node]);
    }
    std::reverse(out.begin(), out.end());
    return out;
  }

  // To the neighbour with the least used links, and back; empty without one.
  Ports loop(std::uint32_t node) const {
    Ports out;
    std::uint64_t least = UINT64_MAX;
    for (const Edge& edge : candidates_.adjacency()[node]) {
      if (edge.peer < hosts_ || !candidates_.leads(edge, node)) continue;
      if (!candidates_.leads(edge, edge.peer)) continue;
      const std::uint32_t port = candidates_.port(edge, node);
      const std::uint64_t used = used_[port] + used_[reverse(port)];
      if (used >= least) continue;
      least = used;
      out = {port, reverse(port)};
    }
    return out;
  }

  void use(const Ports& ports) {
    for (const std::uint32_t port : ports) ++used_[port];
  }
  void set_full(const Ports& ports, bool full) {
    for (const std::uint32_t port : ports) full_[port] = full;
  }

 private:
  using Cost = std::pair<std::uint32_t, std::uint64_t>;  // links, their use

  const Candidates& candidates_;
  const std::uint32_t hosts_;
  std::vector<std::uint64_t> used_;  // by port: first routes over it, or second ones
  std::vector<bool> full_;
  std::vector<Cost> best_;
  std::vector<std::uint32_t> came_by_, came_from_;
};

}  // namespace

base::Status Routes::lay_routes(const topology::Cluster& cluster, const Candidates& candidates) {
  if (hosts_ > kHostsMax) {
    return base::bad_input(fmt::format(
        "routing `{}` lays routes pair by pair, which takes too long for {} hosts; expected at "
        "most {}",
        name_of(rule_), cluster.hosts.size(), kHostsMax));
  }
  first_.assign(std::size_t{hosts_} * hosts_, 0);
  second_.assign(std::size_t{hosts_} * hosts_, 0);
  const auto put = [&](const Laying::Ports& ports, std::uint32_t to) -> std::uint32_t {
    const auto begin = static_cast<std::uint32_t>(pool_.size());
    pool_.insert(pool_.end(), ports.begin(), ports.end());
    pool_.push_back(reverse(host_port_[to]));
    return begin;
  };
  std::vector<Laying::Ports> firsts(first_.size());
  Laying laying(candidates, hosts_, end_of_port_.size());
  const auto leaf = [&](std::uint32_t host) { return end_of_port_[host_port_[host]]; };
  for (const bool is_first : {true, false}) {
    if (!is_first && rule_ == Rule::kFm1) break;
    for (std::uint32_t from = 0; from < hosts_; ++from) {
      for (std::uint32_t to = 0; to < hosts_; ++to) {
        if (from == to) continue;
        const std::size_t pair = std::size_t{from} * hosts_ + to;
        Laying::Ports& first = firsts[pair];
        if (is_first) {
          first = laying.lay(leaf(from), leaf(to));
          laying.use(first);
          if (rule_ != Rule::kFm2) first_[pair] = put(first, to);
          continue;
        }
        laying.set_full(first, true);
        Laying::Ports second =
            leaf(from) == leaf(to) ? laying.loop(leaf(from)) : laying.lay(leaf(from), leaf(to));
        laying.set_full(first, false);
        if (second.empty()) second = first;
        laying.use(second);
        second_[pair] = put(second, to);
      }
    }
  }
  return {};
}

}  // namespace alm::routing

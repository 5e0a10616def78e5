#include "routing/routes.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "topology/graph.h"

namespace alm::routing {
namespace {

constexpr std::uint32_t kFar = UINT32_MAX;

// Links from each node to the nearest host.
std::vector<std::uint32_t> heights(const topology::Cluster& cluster,
                                   const topology::Adjacency& adjacency) {
  std::vector<std::uint32_t> height(adjacency.node_count(), kFar);
  std::vector<std::uint32_t> queue;
  for (std::uint32_t host = 0; host < cluster.host_count(); ++host) {
    height[host] = 0;
    queue.push_back(host);
  }
  for (std::size_t at = 0; at < queue.size(); ++at) {
    for (const topology::Edge& edge : adjacency[queue[at]]) {
      if (height[edge.peer] != kFar) continue;
      height[edge.peer] = height[queue[at]] + 1;
      queue.push_back(edge.peer);
    }
  }
  return height;
}

class Maker {
 public:
  explicit Maker(const topology::Cluster& cluster) : cluster_(cluster), adjacency_(cluster) {}

  // Ports on shortest paths towards `host`, by switch.
  void towards(std::uint32_t host, std::vector<std::vector<std::uint32_t>>& ports) {
    distance_.assign(adjacency_.node_count(), kFar);
    queue_.assign(1, host);
    distance_[host] = 0;
    for (std::size_t at = 0; at < queue_.size(); ++at) {
      const std::uint32_t node = queue_[at];
      if (node != host && cluster_.is_host(topology::NodeId{node})) continue;  // hosts forward none
      for (const topology::Edge& edge : adjacency_[node]) {
        if (distance_[edge.peer] != kFar || !leads(edge, edge.peer)) continue;
        distance_[edge.peer] = distance_[node] + 1;
        queue_.push_back(edge.peer);
      }
    }
    for (std::uint32_t i = 0; i < ports.size(); ++i) {
      const std::uint32_t node = cluster_.host_count() + i;
      ports[i].clear();
      if (distance_[node] == kFar) continue;
      for (const topology::Edge& edge : adjacency_[node]) {
        if (distance_[edge.peer] == kFar || distance_[edge.peer] + 1 != distance_[node]) continue;
        if (!leads(edge, node)) continue;
        const bool up = cluster_.links[edge.link].from.value == node;
        ports[i].push_back(up ? up_port(edge.link) : down_port(edge.link));
      }
    }
  }
  const topology::Adjacency& adjacency() const { return adjacency_; }

 private:
  // Away from this end.
  bool leads(const topology::Edge& edge, std::uint32_t from) const {
    const topology::Link& link = cluster_.links[edge.link];
    return !link.one_way || link.from.value == from;
  }

  const topology::Cluster& cluster_;
  topology::Adjacency adjacency_;
  std::vector<std::uint32_t> distance_, queue_;
};

}  // namespace

base::Result<Rule> parse_rule(std::string_view name) {
  for (const Rule rule : {Rule::kEcmp, Rule::kDModK, Rule::kSource}) {
    if (name == name_of(rule)) return rule;
  }
  return base::bad_input(
      fmt::format("routing `{}` is unknown; expected ecmp, d-mod-k or source", name));
}

std::string_view name_of(Rule rule) {
  switch (rule) {
    case Rule::kEcmp:
      return "ecmp";
    case Rule::kDModK:
      return "d-mod-k";
    case Rule::kSource:
      break;
  }
  return "source";
}

base::Result<Routes> Routes::make(const topology::Cluster& cluster, Rule rule) {
  Routes out;
  out.rule_ = rule;
  out.hosts_ = cluster.host_count();
  out.switches_ = static_cast<std::uint32_t>(cluster.switches.size());
  out.host_port_.assign(out.hosts_, kFar);
  for (std::uint32_t link = 0; link < cluster.links.size(); ++link) {
    const topology::Link& l = cluster.links[link];
    out.end_of_port_.push_back(l.to.value);
    out.end_of_port_.push_back(l.from.value);
    if (cluster.is_host(l.from)) out.host_port_[l.from.value] = up_port(link);
    if (cluster.is_host(l.to)) out.host_port_[l.to.value] = down_port(link);
  }
  Maker maker(cluster);
  const std::vector<std::uint32_t> height = heights(cluster, maker.adjacency());
  out.table_.assign(std::size_t{out.switches_} * out.hosts_, kFar);
  std::map<std::vector<std::uint32_t>, std::uint32_t> known;
  std::vector<std::vector<std::uint32_t>> ports(out.switches_);
  std::vector<std::uint32_t> radix;  // by height: the most choices a switch there has on the way up
  for (std::uint32_t host = 0; host < out.hosts_; ++host) {
    if (out.host_port_[host] == kFar) {
      return base::bad_input(
          fmt::format("host `{}` has no link; expected exactly one", cluster.hosts[host].name));
    }
    maker.towards(host, ports);
    for (std::uint32_t i = 0; i < out.switches_; ++i) {
      if (ports[i].empty()) {
        return base::bad_input(fmt::format("no path leads from switch `{}` to host `{}`",
                                           cluster.switches[i].name, cluster.hosts[host].name));
      }
      std::uint32_t& entry = out.table_[std::size_t{i} * out.hosts_ + host];
      if (ports[i].size() == 1) {
        entry = ports[i].front();
        continue;
      }
      const std::uint32_t level = height[out.hosts_ + i];
      if (radix.size() <= level) radix.resize(level + 1, 1);
      radix[level] = std::max(radix[level], static_cast<std::uint32_t>(ports[i].size()));
      const auto [it, is_new] =
          known.try_emplace(ports[i], static_cast<std::uint32_t>(out.groups_.size()));
      if (is_new) {
        out.groups_.push_back({static_cast<std::uint32_t>(out.members_.size()),
                               static_cast<std::uint32_t>(ports[i].size())});
        out.members_.insert(out.members_.end(), ports[i].begin(), ports[i].end());
      }
      entry = kChoice | it->second;
    }
  }
  if (rule != Rule::kDModK) return out;
  // Consecutive destinations go to different ports, and what a level below has told apart is told
  // apart no more: no two destinations below one switch share a way down that they need not share.
  out.choice_ = out.table_;
  for (std::uint32_t i = 0; i < out.switches_; ++i) {
    std::uint64_t divisor = 1;
    const std::uint32_t level = height[out.hosts_ + i];
    for (std::uint32_t below = 0; below < std::min<std::size_t>(level, radix.size()); ++below) {
      divisor *= radix[below];
    }
    for (std::uint32_t host = 0; host < out.hosts_; ++host) {
      std::uint32_t& entry = out.table_[std::size_t{i} * out.hosts_ + host];
      if ((entry & kChoice) == 0) continue;
      const Group& group = out.groups_[entry & ~kChoice];
      entry = out.members_[group.begin + host / divisor % group.count];
    }
  }
  return out;
}

std::uint32_t Routes::choose(std::uint32_t switch_index, std::uint32_t group,
                             std::uint32_t& flow) const {
  const Group& among = groups_[group];
  if (rule_ == Rule::kSource) {
    const std::uint32_t digit = flow % among.count;
    flow /= among.count;
    return members_[among.begin + digit];
  }
  // The switch takes part, or all switches of a level would split the same flows the same way; and
  // two rounds of mixing, or those of the next level would not split what this one sends them.
  std::uint64_t mixed = (std::uint64_t{switch_index} << 32 | flow) + 0x9e3779b97f4a7c15u;
  mixed = (mixed ^ (mixed >> 32)) * 0xd6e8feb86659fd93u;
  mixed = (mixed ^ (mixed >> 32)) * 0xd6e8feb86659fd93u;
  const std::uint64_t pick = ((mixed >> 32) * among.count) >> 32;
  return members_[among.begin + pick];
}

std::span<const std::uint32_t> Routes::choices(std::uint32_t switch_index,
                                               std::uint32_t host) const {
  const std::size_t at = std::size_t{switch_index} * hosts_ + host;
  const std::uint32_t& entry = choice_.empty() ? table_[at] : choice_[at];
  if ((entry & kChoice) == 0) return {&entry, 1};
  const Group& group = groups_[entry & ~kChoice];
  return std::span(members_).subspan(group.begin, group.count);
}

std::vector<std::uint32_t> Routes::path(std::uint32_t from, std::uint32_t to,
                                        std::uint32_t flow) const {
  std::vector<std::uint32_t> ports{host_port_[from]};
  while (end_of_port_[ports.back()] != to) {
    ports.push_back(next(end_of_port_[ports.back()] - hosts_, to, flow));
  }
  return ports;
}

std::uint32_t Routes::path_count(std::uint32_t from, std::uint32_t to) const {
  std::uint64_t count = 1;
  std::uint32_t node = end_of_port_[host_port_[from]];
  while (node != to) {
    const auto ports = choices(node - hosts_, to);
    count = std::min<std::uint64_t>(count * ports.size(), UINT32_MAX);
    node = end_of_port_[ports.front()];
  }
  return static_cast<std::uint32_t>(count);
}

std::size_t Routes::bytes() const {
  return (table_.capacity() + choice_.capacity() + members_.capacity()) * sizeof(std::uint32_t) +
         groups_.capacity() * sizeof(Group);
}

}  // namespace alm::routing

#include "plan/assigned_paths.h"

#include <algorithm>

#include "routing/routes.h"
#include "schedule/spread_over_routes.h"

namespace alm::plan {
namespace {

struct Pair {
  base::PeerId from = 0, to = 0;
  std::uint32_t leaf = 0;  // of the sender, a switch
};

class Assigner {
 public:
  Assigner(const topology::Cluster& cluster, routing::Rule rule, std::uint32_t paths,
           std::span<const base::HostId> members, const routing::Routes& routes)
      : cluster_(cluster), rule_(rule), paths_(paths), members_(members), routes_(routes) {
    leaf_of_.resize(cluster.host_count());
    for (const topology::Link& link : cluster.links) {
      if (cluster.is_host(link.from)) leaf_of_[link.from.value] = to_switch(link.to.value);
      if (cluster.is_host(link.to)) leaf_of_[link.to.value] = to_switch(link.from.value);
    }
  }

  // What is sent in one step.
  void assign(std::span<const std::pair<base::PeerId, base::PeerId>> step,
              std::vector<std::uint8_t>& out) const {
    std::vector<schedule::LeafSend> sends;
    std::vector<Pair> pairs;
    std::uint32_t routes = 1;
    for (const auto& [from, to] : step) {
      const std::uint32_t leaf = leaf_of_[members_[from].value];
      const std::size_t choices = routes_.choices(leaf, members_[to].value).size();
      if (choices < 2) continue;
      routes = std::max(routes, static_cast<std::uint32_t>(choices));
      sends.push_back({leaf, leaf_of_[members_[to].value]});
      pairs.push_back({from, to, leaf});
    }
    const auto leaves = static_cast<std::uint32_t>(cluster_.switches.size());
    const auto route = schedule::spread_over_routes(sends, leaves, routes);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      out[std::size_t{pairs[i].from} * members_.size() + pairs[i].to] = path_by(pairs[i], route[i]);
    }
  }

 private:
  std::uint32_t to_switch(std::uint32_t node) const { return node - cluster_.host_count(); }

  std::uint8_t path_by(const Pair& pair, std::uint32_t route) const {
    const std::uint32_t from = members_[pair.from].value, to = members_[pair.to].value;
    const auto choices = routes_.choices(pair.leaf, to);
    const std::uint32_t wanted = choices[route % choices.size()];
    for (std::uint32_t path = 0; path < paths_; ++path) {
      std::uint32_t flow = routes_.enter(from, to, routing::label(rule_, from, to, path));
      if (routes_.next(pair.leaf, to, flow) == wanted) return static_cast<std::uint8_t>(path);
    }
    return static_cast<std::uint8_t>(route % paths_);
  }

  const topology::Cluster& cluster_;
  routing::Rule rule_;
  std::uint32_t paths_;
  std::span<const base::HostId> members_;
  const routing::Routes& routes_;
  std::vector<std::uint32_t> leaf_of_;  // by host
};

}  // namespace

base::Result<std::vector<std::uint8_t>> assign_paths(
    const topology::Cluster& cluster, routing::Rule rule, std::uint32_t paths,
    std::span<const base::HostId> members, std::span<const std::vector<base::PeerId>> sends,
    const routing::Settings& settings) {
  auto routes = routing::Routes::make(cluster, rule, settings);
  if (!routes) return routes.error();
  const Assigner assigner(cluster, rule, paths, members, routes.value());
  std::vector<std::uint8_t> out(members.size() * members.size(), 0);
  std::vector<bool> seen(out.size(), false);
  std::size_t steps = 0;
  for (const auto& of_one : sends) steps = std::max(steps, of_one.size());
  std::vector<std::pair<base::PeerId, base::PeerId>> step;
  for (std::size_t i = 0; i < steps; ++i) {
    step.clear();
    for (base::PeerId from = 0; from < sends.size(); ++from) {
      if (i >= sends[from].size() || sends[from][i] == kSendsNothing) continue;
      const std::size_t pair = from * members.size() + sends[from][i];
      if (!seen[pair]) step.emplace_back(from, sends[from][i]);
      seen[pair] = true;
    }
    assigner.assign(step, out);
  }
  return out;
}

}  // namespace alm::plan

#include "scenario/paths.h"

#include <fmt/core.h>

#include <algorithm>

#include "plan/assigned_paths.h"
#include "routing/routes.h"

namespace alm::scenario {
namespace {

// Whether any rank on one host sends to any rank on the other.
bool sends_any(const Scenario& scenario, std::uint32_t from, std::uint32_t to) {
  const std::uint32_t each = scenario.asked.ranks_per_host;
  for (std::uint32_t i = 0; i < each * each; ++i) {
    if (scenario.bytes(from * each + i / each, to * each + i % each) > 0) return true;
  }
  return false;
}

// [host] its receivers, stage by stage; empty if some host sends two messages in one stage.
std::vector<std::vector<base::PeerId>> sends_by_stage(const Scenario& scenario) {
  std::vector<std::vector<base::PeerId>> out(scenario.hosts.size());
  for (std::size_t stage = 0; stage < scenario.stages.size(); ++stage) {
    for (auto& of_host : out) of_host.push_back(plan::kSendsNothing);
    for (const Scenario::Send& send : scenario.stages[stage]) {
      if (send.bytes == 0) continue;
      base::PeerId& to = out[send.from].back();
      if (to != plan::kSendsNothing) return {};
      to = send.to;
    }
  }
  return scenario.stages.empty() ? decltype(out){} : out;
}

}  // namespace

bool assigns_paths(const Scenario& scenario) {
  return scenario.config.paths > 1 && scenario.config.path_rule == paths::PathRule::kAssigned;
}

base::Status check_paths(const Scenario& scenario, const topology::Cluster& cluster) {
  const std::uint32_t paths = scenario.config.paths;
  if (paths == 1 || scenario.hosts.size() < 2) return {};
  const routing::Rule rule = scenario.network.rule;
  if (!routing::tells_paths_apart(rule)) {
    return base::bad_input(fmt::format(
        "options: {} paths, but routing `{}` has one way for each destination; expected routing "
        "`ecmp`, `source`, `lid` or one that chooses per message",
        paths, routing::name_of(rule)));
  }
  if (rule != routing::Rule::kSource && rule != routing::Rule::kLid &&
      rule != routing::Rule::kGiven) {
    return {};
  }
  const auto routes = routing::Routes::make(cluster, rule, scenario.network.routes);
  if (!routes) return routes.error();
  std::uint32_t most = 1;
  for (const base::HostId host : scenario.hosts) {
    if (host == scenario.hosts.front()) continue;
    most = std::max(most, routes.value().path_count(scenario.hosts.front().value, host.value));
  }
  if (paths <= most) return {};
  return base::bad_input(
      fmt::format("options: {} paths, but hosts are at most {} routes apart; expected 1 to {}",
                  paths, most, most));
}

base::Result<std::vector<std::uint8_t>> assigned_paths(
    const Scenario& scenario, const topology::Cluster& cluster, bool several_phases,
    const std::function<base::Result<plan::Plan>(std::uint32_t host)>& plan_of) {
  if (!assigns_paths(scenario)) return std::vector<std::uint8_t>{};
  if (several_phases) {
    return base::bad_input(
        "options: path_policy `assigned` needs an algorithm of one phase, whose blocks go to their "
        "destinations directly");
  }
  std::vector<std::vector<base::PeerId>> sends = sends_by_stage(scenario);
  const bool by_stage = !sends.empty();
  sends.resize(scenario.hosts.size());
  for (std::uint32_t host = 0; !by_stage && host < sends.size(); ++host) {
    const auto planned = plan_of(host);
    if (!planned) return planned.error();
    for (const base::PeerId peer : planned.value().rounds().send) {
      if (scenario.complete() || sends_any(scenario, host, peer)) sends[host].push_back(peer);
    }
  }
  return plan::assign_paths(cluster, scenario.network.rule, scenario.config.paths, scenario.hosts,
                            sends, scenario.network.routes);
}

std::vector<std::uint64_t> path_loads(const transport::Counters& counters, std::uint32_t paths) {
  if (paths == 1) return {counters.data_sent + counters.data_retransmitted};
  return {counters.path_loads.begin(), counters.path_loads.begin() + paths};
}

}  // namespace alm::scenario

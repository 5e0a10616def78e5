#include "bindings/simulate_paths.h"

#include <fmt/core.h>

#include <algorithm>

#include "bindings/bindings.h"
#include "plan/assigned_paths.h"
#include "routing/routes.h"

namespace alm::bindings {
namespace {

// Whether any rank on one host sends to any rank on the other.
bool sends_any(const SimulateOptions& options, std::uint32_t from, std::uint32_t to) {
  const std::uint32_t each = options.ranks_per_host;
  for (std::uint32_t i = 0; i < each * each; ++i) {
    if (options.bytes(from * each + i / each, to * each + i % each) > 0) return true;
  }
  return false;
}

// [host] its receivers, stage by stage; empty if some host sends two messages in one stage.
std::vector<std::vector<base::PeerId>> sends_by_stage(const SimulateOptions& options) {
  std::vector<std::vector<base::PeerId>> out(options.hosts.size());
  for (std::size_t stage = 0; stage < options.stages.size(); ++stage) {
    for (auto& of_host : out) of_host.push_back(plan::kSendsNothing);
    for (const SimulateOptions::Send& send : options.stages[stage]) {
      if (send.bytes == 0) continue;
      base::PeerId& to = out[send.from].back();
      if (to != plan::kSendsNothing) return {};
      to = send.to;
    }
  }
  return options.stages.empty() ? decltype(out){} : out;
}

}  // namespace

bool assigns_paths(const SimulateOptions& options) {
  return options.config.paths > 1 && options.config.path_rule == paths::PathRule::kAssigned;
}

void check_paths(const SimulateOptions& options, const topology::Cluster& cluster) {
  const std::uint32_t paths = options.config.paths;
  if (paths == 1 || options.hosts.size() < 2) return;
  const routing::Rule rule = options.network.rule;
  if (!routing::tells_paths_apart(rule)) {
    throw RaisedError{base::bad_input(fmt::format(
        "options: {} paths, but routing `{}` has one way for each destination; expected routing "
        "`ecmp`, `source`, `lid` or one that chooses per message",
        paths, routing::name_of(rule)))};
  }
  if (rule != routing::Rule::kSource && rule != routing::Rule::kLid &&
      rule != routing::Rule::kGiven) {
    return;
  }
  const auto routes = value_or_raise(routing::Routes::make(cluster, rule, options.network.routes));
  std::uint32_t most = 1;
  for (const base::HostId host : options.hosts) {
    if (host == options.hosts.front()) continue;
    most = std::max(most, routes.path_count(options.hosts.front().value, host.value));
  }
  if (paths <= most) return;
  throw RaisedError{base::bad_input(
      fmt::format("options: {} paths, but hosts are at most {} routes apart; expected 1 to {}",
                  paths, most, most))};
}

std::vector<std::uint8_t> assigned_paths(
    const SimulateOptions& options, const topology::Cluster& cluster, bool several_phases,
    const std::function<base::Result<plan::Plan>(std::uint32_t host)>& plan_of) {
  if (!assigns_paths(options)) return {};
  if (several_phases) {
    throw RaisedError{base::bad_input(
        "options: path_policy `assigned` needs an algorithm of one phase, whose blocks go to their "
        "destinations directly")};
  }
  std::vector<std::vector<base::PeerId>> sends = sends_by_stage(options);
  const bool by_stage = !sends.empty();
  sends.resize(options.hosts.size());
  for (std::uint32_t host = 0; !by_stage && host < sends.size(); ++host) {
    const auto planned = value_or_raise(plan_of(host));
    for (const base::PeerId peer : planned.rounds().send) {
      if (options.complete() || sends_any(options, host, peer)) sends[host].push_back(peer);
    }
  }
  return value_or_raise(plan::assign_paths(cluster, options.network.rule, options.config.paths,
                                           options.hosts, sends, options.network.routes));
}

std::vector<std::uint64_t> path_loads(const transport::Counters& counters, std::uint32_t paths) {
  if (paths == 1) return {counters.data_sent + counters.data_retransmitted};
  return {counters.path_loads.begin(), counters.path_loads.begin() + paths};
}

}  // namespace alm::bindings

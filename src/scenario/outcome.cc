#include "scenario/outcome.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "plan/plan.h"
#include "routing/routes.h"
#include "scenario/paths.h"

namespace alm::scenario {
namespace {

using topology::Cluster;

// What each flow gets where all who use a port get the same of it, the jobs counted as one each.
std::vector<double> fair_rates(const Scenario& scenario, const Cluster& cluster,
                               const routing::Routes& routes) {
  std::vector<std::vector<std::uint32_t>> paths;
  std::vector<std::uint32_t> users(2 * cluster.links.size(), scenario.asked.jobs);
  for (const harness::BulkFlow& flow : scenario.background) {
    paths.push_back(
        routes.path(flow.from, flow.to, harness::flow_label(scenario.network.rule, flow)));
    for (const std::uint32_t port : paths.back()) ++users[port];
  }
  std::vector<double> fair;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const auto wanted = static_cast<double>(scenario.background[i].bit_s) / kMega;
    double rate = wanted > 0 ? wanted : std::numeric_limits<double>::infinity();
    for (const std::uint32_t port : paths[i]) {
      const topology::Link& link = cluster.links[port / 2];
      rate = std::min(rate,
                      (port % 2 == 0 ? link.rate_up_mbit_s : link.rate_down_mbit_s) / users[port]);
    }
    fair.push_back(rate);
  }
  return fair;
}

// The limit of each job when all share the links, and the flows have what is theirs.
double fair_limit_seconds(const Scenario& scenario, const Cluster& cluster,
                          const routing::Routes& routes, const std::vector<double>& fair,
                          bool combines) {
  Cluster left = cluster;
  for (std::size_t i = 0; i < fair.size(); ++i) {
    const harness::BulkFlow& flow = scenario.background[i];
    for (const std::uint32_t port :
         routes.path(flow.from, flow.to, harness::flow_label(scenario.network.rule, flow))) {
      topology::Link& link = left.links[port / 2];
      (port % 2 == 0 ? link.rate_up_mbit_s : link.rate_down_mbit_s) -= fair[i];
    }
  }
  if (!scenario.asked.split_jobs())
    return scenario.asked.jobs * limit_seconds(scenario, left, combines);
  const std::size_t hosts = scenario.hosts.size();
  const std::uint64_t each = scenario.asked.ranks_per_host;
  std::vector<std::uint64_t> matrix(hosts * hosts);
  for (std::size_t from = 0; from < hosts; ++from) {
    for (std::size_t to = from % scenario.asked.jobs; to < hosts; to += scenario.asked.jobs) {
      if (from != to) matrix[from * hosts + to] = each * each * scenario.asked.size;
    }
  }
  const auto packing = combines ? topology::Packing::kShared : topology::Packing::kPerMessage;
  return topology::traffic_limit_seconds(left, scenario.hosts, matrix, packing);
}

// The mean of the exchanges; among others the first does not count, for they begin apart.
double mean_seconds(const harness::SimResult& result, bool shared) {
  const std::size_t skip = shared && result.exchange_time.size() > 1 ? 1 : 0;
  sim::Picos total = 0;
  for (std::size_t i = skip; i < result.exchange_time.size(); ++i) total += result.exchange_time[i];
  return seconds(total) / static_cast<double>(result.exchange_time.size() - skip);
}

std::vector<double> seconds_of(const std::vector<sim::Picos>& times) {
  std::vector<double> out;
  for (const sim::Picos time : times) out.push_back(seconds(time));
  return out;
}

// Routes on which a lossless network may come to a stand.
base::Result<std::vector<std::string>> warnings_of(const Scenario& scenario,
                                                   const Cluster& cluster) {
  std::vector<std::string> out;
  const auto holds_back = [](const topology::Switch& node) {
    return node.flow_control == topology::FlowControl::kBackPressure;
  };
  if (std::none_of(cluster.switches.begin(), cluster.switches.end(), holds_back)) return out;
  const auto routes =
      routing::Routes::make(cluster, scenario.network.rule, scenario.network.routes);
  if (!routes) return routes.error();
  std::string circle;
  for (const std::uint32_t port : routes.value().circle(cluster)) {
    circle += (circle.empty() ? "" : ", ") + harness::port_name(cluster, port);
  }
  if (circle.empty()) return out;
  out.push_back(
      fmt::format("these routes can deadlock a lossless network: each of these ports may "
                  "wait for the next, and the last for the first: {}",
                  circle));
  return out;
}

harness::SimResult sum_of(const std::vector<harness::SimResult>& jobs) {
  harness::SimResult out = jobs.front();
  for (std::size_t job = 1; job < jobs.size(); ++job) {
    out.counters += jobs[job].counters;
    out.packets += jobs[job].packets;
  }
  return out;
}

}  // namespace

double seconds(sim::Picos time) {
  return static_cast<double>(time) / static_cast<double>(sim::kPicosPerSecond);
}

base::Result<Outcome> outcome_of(const harness::SharedResult& results, const Job& first) {
  const Scenario& scenario = first.scenario;
  const Cluster& cluster = first.cluster;
  Outcome out;
  out.algorithm = plan::name_of(scenario.asked.algorithm.algorithm);
  if (const auto& shape = scenario.asked.algorithm.shape; !shape.empty()) {
    out.algorithm += ":" + plan::text_of_shape(shape);
  }
  if (!scenario.asked.algorithm.stock.empty()) out.algorithm = scenario.asked.algorithm.stock;
  for (const base::HostId host : scenario.hosts) {
    out.host_order.push_back(cluster.hosts[host.value].name);
  }
  out.ranks = scenario.ranks();
  out.size = scenario.asked.size;
  out.combines = first.combines;
  auto warnings = warnings_of(scenario, cluster);
  if (!warnings) return warnings.error();
  out.warnings = std::move(warnings).value();
  out.total = sum_of(results.jobs);
  out.time_s = mean_seconds(out.total, false);
  out.limit_s = first.limit;
  out.fraction_of_limit = out.time_s > 0 ? out.limit_s / out.time_s : 0.0;
  out.simulated_s = seconds(results.end);
  out.exchange_s = seconds_of(out.total.exchange_time);
  out.rank_time_s = seconds_of(out.total.rank_end);
  out.bottleneck = harness::port_name(cluster, out.total.bottleneck);
  for (std::uint32_t port = 0; port < out.total.ports.size(); ++port) {
    out.port_names.push_back(harness::port_name(cluster, port));
  }
  out.path_loads = path_loads(out.total.counters, first.config.paths);
  out.window_packets = first.config.window_packets;
  out.grain_packets = first.config.grain_packets;
  auto crossings = crossings_of(scenario, first.leaf_of, first.placement,
                                [&first](std::uint32_t rank) { return first.plan(rank); });
  if (!crossings) return crossings.error();
  out.crossings = std::move(crossings).value();
  return out;
}

base::Result<Shares> shares_of(const harness::SharedResult& results, const Scenario& scenario,
                               const Cluster& cluster, bool combines) {
  const auto routes =
      routing::Routes::make(cluster, scenario.network.rule, scenario.network.routes);
  if (!routes) return routes.error();
  const auto fair = fair_rates(scenario, cluster, routes.value());
  Shares out;
  out.fair_share_s = fair_limit_seconds(scenario, cluster, routes.value(), fair, combines);
  for (const harness::SimResult& job : results.jobs) {
    const double time = mean_seconds(job, true);
    out.jobs.push_back({.time_s = time,
                        .exchange_s = seconds_of(job.exchange_time),
                        .data_packets = job.counters.data_sent,
                        .retransmitted = job.counters.data_retransmitted,
                        .window_cuts = job.counters.window_cuts});
    if (time > 0) out.together_fraction += out.fair_share_s / time;
  }
  out.together_fraction /= static_cast<double>(results.jobs.size());
  for (std::size_t i = 0; i < results.flows.size(); ++i) {
    const harness::FlowResult& flow = results.flows[i];
    out.background.push_back({.from = cluster.hosts[scenario.background[i].from].name,
                              .to = cluster.hosts[scenario.background[i].to].name,
                              .mbit_s = flow.bit_s / kMega,
                              .fair_mbit_s = fair[i],
                              .packets = flow.packets,
                              .retransmitted = flow.lost,
                              .timeouts = flow.timeouts});
  }
  return out;
}

}  // namespace alm::scenario

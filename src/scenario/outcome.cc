#include "scenario/outcome.h"

#include <fmt/core.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "bindings/bindings.h"
#include "scenario/paths.h"
#include "routing/routes.h"

namespace nb = nanobind;

namespace alm::bindings {
namespace {

using topology::Cluster;

nb::list ports_of(const harness::SimResult& result, const Cluster& cluster) {
  nb::list out;
  for (std::uint32_t port = 0; port < result.ports.size(); ++port) {
    const sim::PortStats& stats = result.ports[port];
    nb::dict one;
    one["name"] = harness::port_name(cluster, port);
    one["packets"] = stats.packets;
    one["bytes"] = stats.bytes;
    one["dropped"] = stats.dropped + stats.input_dropped;
    one["queue_high_water"] = stats.queue_high_water;
    one["input_dropped"] = stats.input_dropped;
    one["input_high_water"] = stats.input_high_water;
    one["busy_s"] = seconds(stats.busy);
    out.append(one);
  }
  return out;
}

constexpr double kMega = 1e6;

// What each flow gets where all who use a port get the same of it, the jobs counted as one each.
std::vector<double> fair_rates(const SimulateOptions& options, const Cluster& cluster) {
  const auto routes =
      value_or_raise(routing::Routes::make(cluster, options.network.rule, options.network.routes));
  std::vector<std::vector<std::uint32_t>> paths;
  std::vector<std::uint32_t> users(2 * cluster.links.size(), options.jobs);
  for (const harness::BulkFlow& flow : options.background) {
    paths.push_back(
        routes.path(flow.from, flow.to, harness::flow_label(options.network.rule, flow)));
    for (const std::uint32_t port : paths.back()) ++users[port];
  }
  std::vector<double> fair;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const auto wanted = static_cast<double>(options.background[i].bit_s) / kMega;
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
double fair_limit_seconds(const SimulateOptions& options, const Cluster& cluster, bool combines) {
  Cluster left = cluster;
  const auto fair = fair_rates(options, cluster);
  const auto routes =
      value_or_raise(routing::Routes::make(cluster, options.network.rule, options.network.routes));
  for (std::size_t i = 0; i < fair.size(); ++i) {
    const harness::BulkFlow& flow = options.background[i];
    for (const std::uint32_t port :
         routes.path(flow.from, flow.to, harness::flow_label(options.network.rule, flow))) {
      topology::Link& link = left.links[port / 2];
      (port % 2 == 0 ? link.rate_up_mbit_s : link.rate_down_mbit_s) -= fair[i];
    }
  }
  if (!options.split_jobs) return options.jobs * limit_seconds(options, left, combines);
  const std::size_t hosts = options.hosts.size();
  const std::uint64_t each = options.ranks_per_host;
  std::vector<std::uint64_t> matrix(hosts * hosts);
  for (std::size_t from = 0; from < hosts; ++from) {
    for (std::size_t to = from % options.jobs; to < hosts; to += options.jobs) {
      if (from != to) matrix[from * hosts + to] = each * each * options.size;
    }
  }
  const auto packing = combines ? topology::Packing::kShared : topology::Packing::kPerMessage;
  return topology::traffic_limit_seconds(left, options.hosts, matrix, packing);
}

// The mean of the exchanges; among others the first does not count, for they begin apart.
double mean_seconds(const harness::SimResult& result, bool shared) {
  const std::size_t skip = shared && result.exchange_time.size() > 1 ? 1 : 0;
  sim::Picos total = 0;
  for (std::size_t i = skip; i < result.exchange_time.size(); ++i) total += result.exchange_time[i];
  return seconds(total) / static_cast<double>(result.exchange_time.size() - skip);
}

nb::list seconds_of(const std::vector<sim::Picos>& times) {
  nb::list out;
  for (const sim::Picos time : times) out.append(seconds(time));
  return out;
}

// Routes on which a lossless network may come to a stand.
nb::list warnings_of(const SimulateOptions& options, const Cluster& cluster) {
  nb::list out;
  const auto holds_back = [](const topology::Switch& node) {
    return node.flow_control == topology::FlowControl::kBackPressure;
  };
  if (std::none_of(cluster.switches.begin(), cluster.switches.end(), holds_back)) return out;
  const auto routes =
      value_or_raise(routing::Routes::make(cluster, options.network.rule, options.network.routes));
  std::string circle;
  for (const std::uint32_t port : routes.circle(cluster)) {
    circle += (circle.empty() ? "" : ", ") + harness::port_name(cluster, port);
  }
  if (circle.empty()) return out;
  out.append(
      fmt::format("these routes can deadlock a lossless network: each of these ports may "
                  "wait for the next, and the last for the first: {}",
                  circle));
  return out;
}

}  // namespace

double seconds(sim::Picos time) {
  return static_cast<double>(time) / static_cast<double>(sim::kPicosPerSecond);
}

nb::dict dict_of(const harness::SimResult& result, const Job& job, const Cluster& cluster) {
  const SimulateOptions& options = job.options;
  const transport::Config& config = job.config;
  nb::dict out;
  nb::list host_order;
  for (const base::HostId host : options.hosts) host_order.append(cluster.hosts[host.value].name);
  out["host_order"] = host_order;
  out["combines"] = job.combines;
  out["warnings"] = warnings_of(options, cluster);
  std::string name(plan::name_of(options.algorithm));
  if (!options.shape.empty()) name += ":" + plan::text_of_shape(options.shape);
  const double time = mean_seconds(result, false);
  out["mode"] = "packet";
  out["algorithm"] = name;
  out["hosts"] = options.hosts.size();
  out["ranks"] = options.ranks();
  out["size"] = options.size;
  out["time_s"] = time;
  out["limit_s"] = job.limit;
  out["fraction_of_limit"] = time > 0 ? job.limit / time : 0.0;
  out["dropped"] = result.dropped;
  out["retransmitted"] = result.counters.data_retransmitted;
  out["packet_hops"] = result.packet_hops;
  out["events"] = result.events;
  out["bottleneck"] = harness::port_name(cluster, result.bottleneck);
  out["exchange_s"] = seconds_of(result.exchange_time);
  out["exchange_ps"] = result.exchange_time;
  out["rank_time_s"] = seconds_of(result.rank_end);
  out["ports"] = ports_of(result, cluster);
  out["packets"] = result.packets;
  out["data_packets"] = result.counters.data_sent;
  out["acks"] = result.counters.acks_sent;
  out["probes"] = result.counters.probes_sent;
  out["path_loads"] = path_loads(result.counters, config.paths);
  out["out_of_order"] = result.out_of_order;
  out["path_silences"] = result.counters.path_silences;
  out["window_cuts"] = result.counters.window_cuts;
  out["window_least"] = result.counters.window_least;
  out["duplicates"] = result.counters.duplicates_received;
  out["window_packets"] = config.window_packets;
  out["grain_packets"] = config.grain_packets;
  out["memory_bytes"] = result.memory_bytes;
  return out;
}

void add_shares(nb::dict& out, const harness::SharedResult& result, const SimulateOptions& options,
                const Cluster& cluster, bool combines) {
  const double fair_s = fair_limit_seconds(options, cluster, combines);
  out["fair_share_s"] = fair_s;
  nb::list jobs;
  double together = 0, sum = 0;
  for (const harness::SimResult& job : result.jobs) {
    nb::dict one;
    const double time = mean_seconds(job, true);
    one["time_s"] = time;
    one["exchange_s"] = seconds_of(job.exchange_time);
    one["data_packets"] = job.counters.data_sent;
    one["retransmitted"] = job.counters.data_retransmitted;
    one["window_cuts"] = job.counters.window_cuts;
    jobs.append(one);
    sum += time;
    if (time > 0) together += fair_s / time;
  }
  const auto count = static_cast<double>(result.jobs.size());
  out["jobs"] = jobs;
  out["time_s"] = sum / count;
  out["together_fraction"] = together / count;
  nb::list flows;
  const auto fair = fair_rates(options, cluster);
  for (std::size_t i = 0; i < result.flows.size(); ++i) {
    nb::dict one;
    one["from"] = cluster.hosts[options.background[i].from].name;
    one["to"] = cluster.hosts[options.background[i].to].name;
    one["mbit_s"] = result.flows[i].bit_s / kMega;
    one["fair_mbit_s"] = fair[i];
    one["packets"] = result.flows[i].packets;
    one["retransmitted"] = result.flows[i].lost;
    one["timeouts"] = result.flows[i].timeouts;
    flows.append(one);
  }
  out["background"] = flows;
}

}  // namespace alm::bindings

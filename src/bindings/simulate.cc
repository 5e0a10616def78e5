#include <fmt/core.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>

#include "bindings/bindings.h"
#include "bindings/simulate_options.h"
#include "execute/configuration.h"
#include "plan/host_aggregation.h"
#include "plan/tune.h"
#include "plan/uneven.h"
#include "topology/cluster.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace alm::bindings {
namespace {

using topology::Cluster;

// "direct" is what libraries do that post everything: no window stops it.
constexpr std::uint32_t kNoWindow = 1u << 30;

// What the lab makes of a cluster: a queue per port and nothing else.
Cluster as_lab(Cluster cluster) {
  for (topology::Switch& node : cluster.switches) {
    node.architecture = topology::Architecture::kOutput;
    node.switching = topology::Switching::kStoreAndForward;
    node.flow_control = topology::FlowControl::kDrop;
    node.buffer_packets = 0;
    node.buffer_alpha = 0;
    node.backplane_mbit_s = 0;
  }
  return cluster;
}

transport::Config config_of(const SimulateOptions& options, const Cluster& cluster,
                            const plan::Tuning& tuning) {
  transport::Config config = options.config;
  config.datagram_bytes = topology::payload_bytes(cluster.framing);
  const double frame =
      config.datagram_bytes + topology::kIpUdpBytes + cluster.framing.link_header_bytes;
  constexpr double kBitNanos = 8000;  // bits per byte, ns per (bit / Mbit/s)
  config.packet_time =
      std::max<base::Nanos>(1, std::llround(frame * kBitNanos / tuning.host_rate_mbit_s));
  const auto packet_time = config.packet_time;
  execute::configure(config, &tuning, {0, options.grain_packets});
  config.packet_time = packet_time;  // of the datagrams asked for, rounded to the nearest
  if (options.algorithm == plan::Algorithm::kDirect) config.window_packets = kNoWindow;
  if (options.window_with_acks) {
    execute::configure(config, nullptr, {tuning.window_with_acks, 0});
  }
  execute::configure(config, nullptr, {options.window_packets, options.grain_packets});
  return config;
}

// What the hosts send each other: of the ranks on them, without what stays on a host.
std::vector<std::uint64_t> host_matrix(const SimulateOptions& options) {
  const std::size_t hosts = options.hosts.size();
  std::vector<std::uint64_t> matrix(hosts * hosts);
  for (std::uint32_t from = 0; from < options.ranks(); ++from) {
    for (std::uint32_t to = 0; to < options.ranks(); ++to) {
      const std::size_t a = from / options.ranks_per_host;
      const std::size_t b = to / options.ranks_per_host;
      if (a != b) matrix[a * hosts + b] += options.bytes(from, to);
    }
  }
  return matrix;
}

bool in_steps(const SimulateOptions& options, const std::vector<std::uint64_t>& of_hosts) {
  return options.uneven_steps && options.algorithm == plan::Algorithm::kSyncShuffle &&
         !options.matrix.empty() &&
         plan::uneven_pays(of_hosts, static_cast<std::uint32_t>(options.hosts.size()));
}

void add_steps(base::Rounds& rounds, std::uint32_t host, const std::vector<std::uint64_t>& of_hosts,
               const SimulateOptions& options, const transport::Config& config,
               double limit_seconds) {
  constexpr double kNanos = 1e9;
  const double steps = limit_seconds * kNanos / static_cast<double>(config.packet_time);
  auto made = plan::make_uneven(
      {.ranks = static_cast<std::uint32_t>(options.hosts.size()),
       .self = {host},
       .bytes = of_hosts,
       .packet_bytes = config.datagram_bytes - static_cast<std::uint32_t>(wire::kHeaderBytes),
       .grain_packets = config.grain_packets,
       .link_steps = static_cast<std::uint64_t>(std::ceil(steps))});
  rounds.trains = std::move(made.send);
  rounds.arrivals = std::move(made.recv);
  rounds.steps = made.steps;
}

// Rank r is on the host of number r / ranks_per_host.
plan::Placement placement_of(const SimulateOptions& options) {
  std::vector<std::string> names;
  for (std::uint32_t rank = 0; rank < options.ranks(); ++rank) {
    names.push_back(fmt::format("{}", rank / options.ranks_per_host));
  }
  return plan::Placement::of(std::vector<std::string_view>(names.begin(), names.end()));
}

plan::Request request_of(const SimulateOptions& options, const plan::LeafOf& leaf_of,
                         std::uint32_t host) {
  return {.ranks = static_cast<std::uint32_t>(options.hosts.size()),
          .self = {host},
          .algorithm = options.algorithm,
          .permutation = options.permutation,
          .contention_aware = options.contention_aware,
          .omega = options.omega,
          .shape = options.shape,
          .leaf_of = leaf_of};
}

class Recorder final : public sim::TraceSink {
 public:
  void on(const sim::TraceRecord& record) override { records_.push_back(record); }
  nb::bytes take() const {
    return nb::bytes(static_cast<const void*>(records_.data()),
                     records_.size() * sizeof(sim::TraceRecord));
  }

 private:
  std::vector<sim::TraceRecord> records_;
};

// Refused before it begins: a trace has a record for each packet at each port of its way.
void check_trace(const SimulateOptions& options, const Cluster& cluster,
                 const transport::Config& config) {
  if (options.hosts.size() < 2) return;
  const auto routes = value_or_raise(routing::Routes::make(cluster, options.network.rule));
  std::size_t longest = 0;
  for (const base::HostId host : options.hosts) {
    if (host == options.hosts.front()) continue;
    longest = std::max(longest, routes.path(options.hosts.front().value, host.value, 0).size());
  }
  const std::uint32_t ranks = options.ranks();
  double packets = 0;
  for (std::uint32_t from = 0; from < ranks; ++from) {
    for (std::uint32_t to = 0; to < ranks; ++to) {
      if (from == to) continue;
      const auto bytes = static_cast<double>(options.bytes(from, to));
      packets += std::ceil(bytes / config.datagram_bytes) * options.exchanges;
    }
  }
  const double need = packets * static_cast<double>(longest * sizeof(sim::TraceRecord));
  if (need <= static_cast<double>(options.memory_max)) return;
  constexpr double kMib = 1 << 20;
  throw RaisedError{base::bad_input(fmt::format(
      "a trace of this exchange takes about {:.0f} MiB, {:.0f} are allowed; trace fewer "
      "hosts or bytes",
      need / kMib, static_cast<double>(options.memory_max) / kMib))};
}

double seconds(sim::Picos time) {
  return static_cast<double>(time) / static_cast<double>(sim::kPicosPerSecond);
}

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

// Messages that hold several blocks share packets, those of hosts with several ranks do so anyway.
double limit_seconds(const SimulateOptions& options, const Cluster& cluster, bool combines) {
  const auto packing = combines ? topology::Packing::kShared : topology::Packing::kPerMessage;
  if (!options.matrix.empty()) {
    return topology::traffic_limit_seconds(cluster, options.hosts, host_matrix(options), packing);
  }
  if (!options.pairs.empty()) return 0;  // of a complete exchange; here there is none
  const std::uint64_t each = options.ranks_per_host;
  return topology::alltoall_limit_seconds(cluster, options.hosts, each * each * options.size,
                                          packing);
}

nb::dict dict_of(const harness::SimResult& result, const SimulateOptions& options,
                 const Cluster& cluster, const transport::Config& config, double limit) {
  nb::dict out;
  std::string name(plan::name_of(options.algorithm));
  if (!options.shape.empty()) name += ":" + plan::text_of_shape(options.shape);
  sim::Picos total = 0;
  nb::list exchanges;
  for (const sim::Picos time : result.exchange_time) {
    total += time;
    exchanges.append(seconds(time));
  }
  const double time = seconds(total) / static_cast<double>(result.exchange_time.size());
  out["mode"] = "packet";
  out["algorithm"] = name;
  out["hosts"] = options.hosts.size();
  out["ranks"] = options.ranks();
  out["size"] = options.size;
  out["time_s"] = time;
  out["limit_s"] = limit;
  out["fraction_of_limit"] = time > 0 ? limit / time : 0.0;
  out["dropped"] = result.dropped;
  out["retransmitted"] = result.counters.data_retransmitted;
  out["packet_hops"] = result.packet_hops;
  out["events"] = result.events;
  out["bottleneck"] = harness::port_name(cluster, result.bottleneck);
  out["exchange_s"] = exchanges;
  out["exchange_ps"] = result.exchange_time;
  nb::list ends;
  for (const sim::Picos end : result.rank_end) ends.append(seconds(end));
  out["rank_time_s"] = ends;
  out["ports"] = ports_of(result, cluster);
  out["packets"] = result.packets;
  out["data_packets"] = result.counters.data_sent;
  out["acks"] = result.counters.acks_sent;
  out["probes"] = result.counters.probes_sent;
  out["duplicates"] = result.counters.duplicates_received;
  out["window_packets"] = config.window_packets;
  out["grain_packets"] = config.grain_packets;
  out["memory_bytes"] = result.memory_bytes;
  return out;
}

nb::dict simulate(std::string_view cluster_text, const nb::dict& raw, const nb::object& progress) {
  Cluster cluster = value_or_raise(topology::parse_cluster(cluster_text, "cluster"));
  SimulateOptions options = read_simulate_options(cluster, raw);
  if (options.as_lab) cluster = as_lab(std::move(cluster));
  if (options.datagram_bytes != 0)
    cluster.framing.mtu_bytes = options.datagram_bytes + topology::kIpUdpBytes;
  const plan::Tuning tuning = plan::tune(cluster, options.hosts);
  const transport::Config config = config_of(options, cluster, tuning);
  const auto leaf_of = leaves_of(cluster, options.hosts);

  const auto made = value_or_raise(plan::make_plan(request_of(options, leaf_of, 0)));
  const double limit = limit_seconds(options, cluster, !made.phases.front().direct());
  const auto of_hosts =
      options.matrix.empty() ? std::vector<std::uint64_t>() : host_matrix(options);
  const bool steps = in_steps(options, of_hosts);
  const plan::Placement placement = placement_of(options);
  harness::SimRequest request;
  request.cluster = &cluster;
  for (const std::uint32_t host : placement.host_of) request.hosts.push_back(options.hosts[host]);
  request.bytes = options.size;
  if (!options.complete()) {
    request.bytes_of = [&](std::uint32_t from, std::uint32_t to) {
      return options.bytes(from, to);
    };
  }
  request.exchanges = options.exchanges;
  request.overhead_bytes = topology::kIpUdpBytes + cluster.framing.link_header_bytes;
  request.network = options.network;
  request.jitter = options.jitter;
  request.memory_max = options.memory_max;
  request.config = [&](std::uint32_t) { return config; };
  request.messages = options.messages;
  request.plan = [&](std::uint32_t rank) -> base::Result<plan::Plan> {
    auto planned = plan::make_plan(request_of(options, leaf_of, placement.host_of[rank]));
    if (!planned) return planned;
    if (steps) {
      add_steps(planned.value().phases.front().rounds, placement.host_of[rank], of_hosts, options,
                config, limit);
    }
    return plan::over_hosts(planned.value(), placement, {rank});
  };
  Recorder recorder;
  if (options.trace) {
    check_trace(options, cluster, config);
    request.network.trace = &recorder;
  }
  std::exception_ptr raised;
  request.progress = [&](double share) {
    const nb::gil_scoped_acquire gil;
    try {
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      if (!progress.is_none()) progress(share);
    } catch (...) {
      raised = std::current_exception();
      return false;
    }
    return true;
  };
  auto result = [&] {
    const nb::gil_scoped_release release;
    return harness::simulate(request);
  }();
  if (raised) std::rethrow_exception(raised);
  nb::dict out = dict_of(value_or_raise(std::move(result)), options, cluster, config, limit);
  if (options.trace) out["trace"] = recorder.take();
  return out;
}

}  // namespace

std::vector<std::vector<std::uint32_t>> leaves_of(const topology::Cluster& cluster,
                                                  const std::vector<base::HostId>& hosts) {
  std::vector<std::vector<std::uint32_t>> level;
  if (const auto tree = topology::hierarchy(cluster); tree) {
    level = tree.value().level;
  } else {
    level.emplace_back(cluster.host_count());
    for (const topology::Link& link : cluster.links) {
      if (cluster.is_host(link.from)) level[0][link.from.value] = link.to.value;
      if (cluster.is_host(link.to)) level[0][link.to.value] = link.from.value;
    }
  }
  std::vector<std::vector<std::uint32_t>> out;
  for (const auto& of_host : level) {
    auto& group = out.emplace_back();
    for (const base::HostId host : hosts) group.push_back(of_host[host.value]);
  }
  return out;
}

void bind_simulate(nb::module_& m) {
  m.def("simulate", simulate, "cluster_text"_a, "options"_a, "progress"_a.none() = nb::none(),
        nb::sig("def simulate(cluster_text: str, options: dict[str, typing.Any],"
                " progress: collections.abc.Callable[[float], object] | None = None) -> dict[str, "
                "typing.Any]"),
        "Simulates exchanges packet by packet. `options` are those of docs/simulator.md; "
        "`progress(share)` is called now and then.");
}

}  // namespace alm::bindings

#include <fmt/core.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>

#include "bindings/bindings.h"
#include "bindings/simulate_options.h"
#include "bindings/simulate_paths.h"
#include "bindings/simulate_sites.h"
#include "execute/configuration.h"
#include "plan/far.h"
#include "plan/host_aggregation.h"
#include "plan/multi_site.h"
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
  const bool direct = options.algorithm == plan::Algorithm::kSyncShuffle ||
                      options.algorithm == plan::Algorithm::kMultiSite;
  return options.uneven_steps && direct && !options.matrix.empty() &&
         plan::uneven_pays(of_hosts, static_cast<std::uint32_t>(options.hosts.size()));
}

// Of each phase those with its partners.
void add_steps(plan::Plan& of_host, std::uint32_t host, const std::vector<std::uint64_t>& of_hosts,
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
  plan::set_steps(of_host, made);
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
          .leaf_of = leaf_of,
          .site_of = options.site_of};
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
  const auto routes =
      value_or_raise(routing::Routes::make(cluster, options.network.rule, options.network.routes));
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
  if (!options.complete()) return 0;  // Python adds up those of the steps
  const std::uint64_t each = options.ranks_per_host;
  return topology::alltoall_limit_seconds(cluster, options.hosts, each * each * options.size,
                                          packing);
}

// The hosts of one job among several.
SimulateOptions of_job(const SimulateOptions& options, std::uint32_t job) {
  SimulateOptions out = options;
  if (!options.split_jobs) return out;
  out.hosts.clear();
  for (std::size_t i = job; i < options.hosts.size(); i += options.jobs) {
    out.hosts.push_back(options.hosts[i]);
  }
  return out;
}

// One job: what its ranks are told, and what the request to the harness refers to.
struct Job {
  SimulateOptions options;
  transport::Config config;
  plan::LeafOf leaf_of;
  std::vector<std::uint64_t> of_hosts;
  bool steps = false;
  plan::Placement placement;
  bool combines = false;
  double limit = 0;
  std::vector<std::uint8_t> paths;  // [from * hosts + to]; empty: no plan has any
  const Cluster& network;
  std::vector<base::HostId> host_of;  // [rank]
  std::optional<plan::FarTuner> far;  // where a phase is between sites
  bool together = false;              // multi-site: small blocks

  Job(const SimulateOptions& asked, const Cluster& cluster)
      : options(asked),
        config(config_of(options, cluster, plan::tune(cluster, options.hosts))),
        leaf_of(leaves_of(cluster, options.hosts)),
        placement(placement_of(options)),
        network(cluster) {
    for (const std::uint32_t host : placement.host_of) host_of.push_back(options.hosts[host]);
    const std::uint64_t of_pair = options.size * options.ranks_per_host * options.ranks_per_host;
    together =
        options.algorithm == plan::Algorithm::kMultiSite &&
        of_pair <= plan::combined_bytes_max(
                       request_of(options, leaf_of, 0),
                       config.datagram_bytes - static_cast<std::uint32_t>(wire::kHeaderBytes));
    const auto made = value_or_raise(plan::make_plan(request(0)));
    if (std::any_of(made.phases.begin(), made.phases.end(),
                    [](const auto& phase) { return phase.reach == plan::Reach::kFar; })) {
      std::vector<std::uint32_t> site_of;  // [rank]
      for (const std::uint32_t host : placement.host_of) site_of.push_back(options.site_of[host]);
      far.emplace(cluster, host_of, site_of);
    }
    combines = !made.phases.front().direct();
    limit = limit_seconds(options, cluster, combines);
    if (!options.matrix.empty()) of_hosts = host_matrix(options);
    steps = !combines && in_steps(options, of_hosts);
    paths = assigned_paths(options, cluster, combines,
                           [this](std::uint32_t host) { return plan::make_plan(request(host)); });
  }

  plan::Request request(std::uint32_t host) const {
    plan::Request out = request_of(options, leaf_of, host);
    out.combined = together;
    return out;
  }

  // Phases within and between sites have windows and timers of their own.
  void configure_phase(const plan::Phase& phase, transport::Config& changed) const {
    if (phase.reach == plan::Reach::kNear) {
      const auto tuning = plan::tune_near(network, host_of, phase);
      execute::configure(changed, &tuning, {options.window_packets, options.grain_packets});
      changed.packet_time = config.packet_time;
    } else if (phase.reach == plan::Reach::kFar) {
      execute::configure_far(changed,
                             far->tune(phase, far_load(options, network, *far, phase, limit)));
    }
  }

  base::Result<plan::Plan> plan(std::uint32_t rank) const {
    const std::uint32_t host = placement.host_of[rank];
    auto planned = plan::make_plan(request(host));
    if (!planned) return planned;
    if (steps) {
      add_steps(planned.value(), host, of_hosts, options, config, limit);
    }
    if (!paths.empty()) {
      base::Rounds& rounds = planned.value().phases.front().rounds;
      for (const base::PeerId peer : rounds.send) {
        rounds.paths.push_back(paths[host * options.hosts.size() + peer]);
      }
    }
    return plan::over_hosts(planned.value(), placement, {rank});
  }

  harness::SimRequest request(const Cluster& cluster) const {
    harness::SimRequest out;
    out.cluster = &cluster;
    for (const std::uint32_t host : placement.host_of) out.hosts.push_back(options.hosts[host]);
    out.bytes = options.size;
    if (!options.complete()) {
      out.bytes_of = [this](std::uint32_t from, std::uint32_t to) {
        return options.bytes(from, to);
      };
    }
    out.exchanges = options.exchanges;
    if (!options.steps.empty()) {
      out.bytes_of = nullptr;
      out.bytes_in = [this](std::uint32_t step, std::uint32_t from, std::uint32_t to) {
        return options.bytes_in(step, from, to);
      };
      out.steps = static_cast<std::uint32_t>(options.steps.size());
      out.exchanges *= out.steps;
      out.together = true;
    }
    out.overhead_bytes = topology::kIpUdpBytes + cluster.framing.link_header_bytes;
    out.network = options.network;
    out.jitter = options.jitter;
    out.memory_max = options.memory_max;
    out.messages = options.messages;
    out.striped = options.striped;
    out.config = [this](std::uint32_t) { return config; };
    out.plan = [this](std::uint32_t rank) { return plan(rank); };
    if (far) {
      out.configure_phase = [this](std::uint32_t rank, std::uint32_t phase,
                                   transport::Config& changed) {
        const auto made = plan(rank);
        configure_phase(made.value().phases[phase], changed);
      };
    }
    return out;
  }
};

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

nb::dict dict_of(const harness::SimResult& result, const SimulateOptions& options,
                 const Cluster& cluster, const transport::Config& config, double limit,
                 bool combines) {
  nb::dict out;
  nb::list host_order;
  for (const base::HostId host : options.hosts) host_order.append(cluster.hosts[host.value].name);
  out["host_order"] = host_order;
  out["combines"] = combines;
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
  out["limit_s"] = limit;
  out["fraction_of_limit"] = time > 0 ? limit / time : 0.0;
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

nb::dict simulate(std::string_view cluster_text, const nb::dict& raw, const nb::object& progress) {
  Cluster cluster = value_or_raise(topology::parse_cluster(cluster_text, "cluster"));
  SimulateOptions options = read_simulate_options(cluster, raw);
  if (options.as_lab) cluster = as_lab(std::move(cluster));
  if (options.datagram_bytes != 0)
    cluster.framing.mtu_bytes = options.datagram_bytes + topology::kIpUdpBytes;
  check_paths(options, cluster);
  std::vector<Job> jobs;
  for (std::uint32_t job = 0; job < options.jobs; ++job) {
    jobs.emplace_back(of_job(options, job), cluster);
  }
  const Job& first = jobs.front();
  std::vector<harness::SimRequest> requests;
  sim::Random random(sim::mix(options.seed) + 1);
  for (const Job& job : jobs) {
    harness::SimRequest& request = requests.emplace_back(job.request(cluster));
    request.jitter.seed += requests.size() - 1;
    if (requests.size() == 1) continue;
    const double apart = first.limit * static_cast<double>(sim::kPicosPerSecond);
    request.starts_at =
        static_cast<sim::Picos>(random.below(static_cast<std::uint64_t>(apart) + 1));
  }
  Recorder recorder;
  if (options.trace) {
    check_trace(options, cluster, first.config);
    requests.front().network.trace = &recorder;
  }
  std::exception_ptr raised;
  requests.front().progress = [&](double share) {
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
  auto simulated = [&] {
    const nb::gil_scoped_release release;
    return harness::simulate_shared(requests, options.background);
  }();
  if (raised) std::rethrow_exception(raised);
  harness::SharedResult result = value_or_raise(std::move(simulated));
  harness::SimResult sum = result.jobs.front();
  for (std::size_t job = 1; job < result.jobs.size(); ++job) {
    sum.counters += result.jobs[job].counters;
    sum.packets += result.jobs[job].packets;
  }
  nb::dict out = dict_of(sum, first.options, cluster, first.config, first.limit, first.combines);
  out["simulated_s"] = seconds(result.end);
  const auto plan_of = [&first](std::uint32_t rank) { return first.plan(rank); };
  if (auto crossings = crossings_of(first.options, first.leaf_of, first.placement, plan_of);
      crossings.size() > 0) {
    out["crossings"] = crossings;
  }
  if (options.shared()) add_shares(out, result, options, cluster, first.combines);
  if (options.trace) out["trace"] = recorder.take();
  return out;
}

}  // namespace

std::vector<std::vector<std::uint32_t>> leaves_of(const topology::Cluster& cluster,
                                                  const std::vector<base::HostId>& hosts) {
  std::vector<std::vector<std::uint32_t>> out;
  for (const auto& of_host : topology::schedule_hierarchy(cluster).level) {
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

#include "bindings/simulate_job.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>

#include "bindings/bindings.h"
#include "bindings/simulate_paths.h"
#include "bindings/simulate_sites.h"
#include "execute/configuration.h"
#include "plan/host_aggregation.h"
#include "plan/limit_time.h"
#include "plan/multi_site.h"
#include "plan/tune.h"
#include "plan/uneven.h"
#include "topology/cluster.h"
#include "wire/header.h"

namespace alm::bindings {

using topology::Cluster;

namespace {

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
  // Without a window queues overflow at full speed.
  if (options.algorithm != plan::Algorithm::kDirect) {
    config.limit_time =
        std::llround(plan::limit_time_us(cluster, options.hosts, config.datagram_bytes) * 1000);
  }
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

// Gives each phase of a host's plan the steps with its partners.
void add_steps(plan::Plan& of_host, std::uint32_t host, const std::vector<std::uint64_t>& of_hosts,
               const SimulateOptions& options, const transport::Config& config,
               double limit_seconds) {
  constexpr double kNanos = 1e9;
  const double steps = limit_seconds * kNanos / static_cast<double>(config.packet_time);
  auto made = plan::make_uneven({.ranks = static_cast<std::uint32_t>(options.hosts.size()),
                                 .self = {host},
                                 .bytes = of_hosts,
                                 .packet_bytes = config.datagram_bytes - wire::kHeaderBytes,
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
  plan::Request out{.ranks = static_cast<std::uint32_t>(options.hosts.size()),
                    .self = {host},
                    .algorithm = options.algorithm,
                    .permutation = options.permutation,
                    .contention_aware = options.contention_aware,
                    .omega = options.omega,
                    .shape = options.shape,
                    .leaf_of = leaf_of,
                    .site_of = options.site_of};
  if (assigns_paths(options)) out.permutation = value_or_raise(plan::permutation_in_step(out));
  return out;
}

}  // namespace

// Messages that hold several blocks share packets, those of hosts with several ranks do so anyway.
double limit_seconds(const SimulateOptions& options, const Cluster& cluster, bool combines) {
  const auto packing = combines ? topology::Packing::kShared : topology::Packing::kPerMessage;
  if (!options.matrix.empty()) {
    return topology::traffic_limit_seconds(cluster, options.hosts, host_matrix(options), packing);
  }
  if (!options.complete()) return 0;  // Python adds up those of the stages
  const std::uint64_t each = options.ranks_per_host;
  return topology::alltoall_limit_seconds(cluster, options.hosts, each * each * options.size,
                                          packing);
}

SimulateOptions of_job(const SimulateOptions& options, std::uint32_t job) {
  SimulateOptions out = options;
  if (!options.split_jobs) return out;
  out.hosts.clear();
  out.site_of.clear();
  for (std::size_t i = job; i < options.hosts.size(); i += options.jobs) {
    out.hosts.push_back(options.hosts[i]);
    if (!options.site_of.empty()) out.site_of.push_back(options.site_of[i]);
  }
  out.site_of = numbered_from_0(out.site_of);
  return out;
}

Job::Job(const SimulateOptions& asked, const Cluster& cluster)
    : options(asked),
      config(config_of(options, cluster, plan::tune(cluster, options.hosts))),
      leaf_of(leaves_of(cluster, options.hosts)),
      placement(placement_of(options)),
      network(cluster) {
  for (const std::uint32_t host : placement.host_of) host_of.push_back(options.hosts[host]);
  const std::uint64_t of_pair = options.size * options.ranks_per_host * options.ranks_per_host;
  together = options.algorithm == plan::Algorithm::kMultiSite && options.stages.empty() &&
             of_pair <= plan::combined_bytes_max(request_of(options, leaf_of, 0),
                                                 config.datagram_bytes - wire::kHeaderBytes);
  const auto made = value_or_raise(plan::make_plan(plan_request(0)));
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
  const bool several = combines || made.phases.size() > 1;
  paths = assigned_paths(options, cluster, several, [this](std::uint32_t host) {
    return plan::make_plan(plan_request(host));
  });
}

plan::Request Job::plan_request(std::uint32_t host) const {
  plan::Request out = request_of(options, leaf_of, host);
  out.combined = together;
  return out;
}

void Job::configure_phase(const plan::Phase& phase, transport::Config& changed) const {
  if (phase.reach == plan::Reach::kNear) {
    const auto tuning = plan::tune_near(network, host_of, phase);
    execute::configure_near(changed, phase, &tuning,
                            {options.window_packets, options.grain_packets});
    changed.packet_time = config.packet_time;
  } else if (phase.reach == plan::Reach::kFar) {
    execute::configure_far(changed,
                           far->tune(phase, far_load(options, network, *far, phase, limit)));
  }
}

base::Result<plan::Plan> Job::plan(std::uint32_t rank) const {
  const std::uint32_t host = placement.host_of[rank];
  auto planned = plan::make_plan(plan_request(host));
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

harness::SimRequest Job::request(const Cluster& cluster) const {
  harness::SimRequest out;
  out.cluster = &cluster;
  out.hosts = host_of;
  out.bytes = options.size;
  if (!options.complete()) {
    out.bytes_of = [this](std::uint32_t from, std::uint32_t to) { return options.bytes(from, to); };
  }
  out.exchanges = options.exchanges;
  if (!options.stages.empty()) {
    out.bytes_of = nullptr;
    out.bytes_in = [this](std::uint32_t stage, std::uint32_t from, std::uint32_t to) {
      return options.bytes_in(stage, from, to);
    };
    out.stages = static_cast<std::uint32_t>(options.stages.size());
    out.exchanges *= out.stages;
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

}  // namespace alm::bindings

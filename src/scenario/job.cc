#include "scenario/job.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>

#include "execute/configuration.h"
#include "plan/host_aggregation.h"
#include "plan/multi_site.h"
#include "plan/tune.h"
#include "plan/uneven.h"
#include "scenario/paths.h"
#include "scenario/sites.h"
#include "topology/cluster.h"
#include "topology/find_hosts.h"
#include "wire/header.h"

namespace alm::scenario {

using topology::Cluster;

namespace {

// "direct" is what libraries do that post everything: no window stops it.
constexpr std::uint32_t kNoWindow = 1u << 30;

base::Nanos packet_time_of(const transport::Config& config, const Cluster& cluster,
                           const plan::Tuning& tuning) {
  const double frame =
      config.datagram_bytes + topology::kIpUdpBytes + cluster.framing.link_header_bytes;
  return base::frame_time(frame, tuning.host_rate_mbit_s);
}

// As a job does without a cluster file (job/settings.h).
transport::Config undescribed(transport::Config config, const Scenario& scenario,
                              const Cluster& cluster) {
  const Options& asked = scenario.asked;
  const plan::Tuning truly = plan::tune(cluster, scenario.hosts);
  config.packet_time = config.link_time;
  execute::configure_unknown(config, {asked.window_packets, asked.grain_packets});
  config.idle_round_trip =
      std::llround(topology::latency_seconds(cluster, scenario.hosts) * base::kSecond +
                   truly.latency_us * base::kMicrosecond);
  return config;
}

transport::Config config_of(const Scenario& scenario, const Cluster& cluster, const Cluster& told,
                            const std::vector<base::HostId>& told_hosts) {
  transport::Config config = scenario.config;
  config.datagram_bytes = topology::payload_bytes(cluster.framing);
  // Interfaces tell their speed.
  config.link_time = packet_time_of(config, cluster, plan::tune(cluster, scenario.hosts));
  if (!scenario.asked.described) return undescribed(config, scenario, cluster);
  const plan::Tuning tuning = plan::tune(told, told_hosts);
  execute::configure(config, &tuning, {0, scenario.asked.grain_packets});
  config.packet_time = packet_time_of(config, told, tuning);  // of the datagrams asked for
  if (scenario.asked.algorithm.algorithm == plan::Algorithm::kDirect)
    config.window_packets = kNoWindow;
  if (scenario.asked.window_with_acks) {
    execute::configure(config, nullptr, {tuning.window_with_acks, 0});
  }
  execute::configure(config, nullptr,
                     {scenario.asked.window_packets, scenario.asked.grain_packets});
  // Without a window queues overflow at full speed.
  if (scenario.asked.algorithm.algorithm != plan::Algorithm::kDirect) {
    execute::set_limit_time(config, told, told_hosts);
  }
  return config;
}

// What the hosts send each other: of the ranks on them, without what stays on a host.
std::vector<std::uint64_t> host_matrix(const Scenario& scenario) {
  const std::size_t hosts = scenario.hosts.size();
  std::vector<std::uint64_t> matrix(hosts * hosts);
  for (std::uint32_t from = 0; from < scenario.ranks(); ++from) {
    for (std::uint32_t to = 0; to < scenario.ranks(); ++to) {
      const std::size_t a = from / scenario.asked.ranks_per_host;
      const std::size_t b = to / scenario.asked.ranks_per_host;
      if (a != b) matrix[a * hosts + b] += scenario.bytes(from, to);
    }
  }
  return matrix;
}

bool in_steps(const Scenario& scenario, const std::vector<std::uint64_t>& of_hosts) {
  const bool direct = scenario.asked.algorithm.algorithm == plan::Algorithm::kSyncShuffle ||
                      scenario.asked.algorithm.algorithm == plan::Algorithm::kMultiSite;
  return scenario.asked.uneven_steps && direct && !scenario.matrix.empty() &&
         plan::uneven_pays(of_hosts, static_cast<std::uint32_t>(scenario.hosts.size()));
}

std::uint32_t packet_payload(const transport::Config& config) {
  return config.datagram_bytes - wire::kHeaderBytes;
}

// Gives each phase of a host's plan the steps with its partners.
void add_steps(plan::Plan& of_host, const std::vector<std::uint64_t>& of_hosts,
               const transport::Config& config, double limit_seconds) {
  constexpr double kNanos = 1e9;
  const double steps = limit_seconds * kNanos / static_cast<double>(config.packet_time);
  auto made = plan::make_uneven({.ranks = of_host.ranks,
                                 .self = of_host.self,
                                 .bytes = of_hosts,
                                 .packet_bytes = packet_payload(config),
                                 .grain_packets = config.grain_packets,
                                 .link_steps = static_cast<std::uint64_t>(std::ceil(steps))});
  plan::set_steps(of_host, made);
}

// Rank r is on the host of number r / ranks_per_host.
plan::Placement placement_of(const Scenario& scenario) {
  std::vector<std::string> names;
  for (std::uint32_t rank = 0; rank < scenario.ranks(); ++rank) {
    names.push_back(fmt::format("{}", rank / scenario.asked.ranks_per_host));
  }
  return plan::Placement::of(std::vector<std::string_view>(names.begin(), names.end()));
}

std::vector<base::HostId> hosts_of_ranks(const std::vector<base::HostId>& hosts,
                                         const plan::Placement& placement) {
  std::vector<base::HostId> out;
  for (const std::uint32_t host : placement.host_of) out.push_back(hosts[host]);
  return out;
}

// The same hosts, by name, in what the job is told.
base::Result<std::vector<base::HostId>> hosts_in(const Cluster& told, const Cluster& cluster,
                                                 const std::vector<base::HostId>& hosts) {
  if (&told == &cluster) return hosts;
  std::vector<base::HostId> out;
  for (const base::HostId host : hosts) {
    const std::string& name = cluster.hosts[host.value].name;
    const auto found = told.find_host(name);
    if (!found) {
      return base::bad_input(fmt::format(
          "cluster `{}`, which the job is told, has no host `{}`; expected all that take part",
          told.name, name));
    }
    out.push_back(*found);
  }
  return out;
}

}  // namespace

// Messages that hold several blocks share packets, those of hosts with several ranks do so anyway.
double limit_seconds(const Scenario& scenario, const Cluster& cluster, bool combines) {
  const auto packing = combines ? topology::Packing::kShared : topology::Packing::kPerMessage;
  if (!scenario.matrix.empty()) {
    return topology::traffic_limit_seconds(cluster, scenario.hosts, host_matrix(scenario), packing);
  }
  if (!scenario.complete()) return 0;
  const std::uint64_t each = scenario.asked.ranks_per_host;
  return topology::alltoall_limit_seconds(cluster, scenario.hosts,
                                          each * each * scenario.asked.size, packing);
}

Job::Job(Scenario asked, const Cluster& network, const Cluster& said,
         std::vector<base::HostId> said_hosts)
    : scenario(std::move(asked)),
      cluster(network),
      told(said),
      told_hosts(std::move(said_hosts)),
      config(config_of(scenario, cluster, told, told_hosts)),
      leaf_of(scenario.asked.described ? topology::schedule_hierarchy(told).of(told_hosts)
                                       : plan::LeafOf{}),
      permutation(scenario.asked.permutation),
      placement(placement_of(scenario)),
      host_of(hosts_of_ranks(scenario.hosts, placement)) {}

base::Result<Job> Job::make(Scenario asked, const Cluster& network, const Cluster& told) {
  auto told_hosts = hosts_in(told, network, asked.hosts);
  if (!told_hosts) return told_hosts.error();
  Job job(std::move(asked), network, told, std::move(told_hosts).value());
  const Scenario& scenario = job.scenario;
  if (assigns_paths(scenario)) {
    const auto in_step = plan::permutation_in_step(job.plan_request(0));
    if (!in_step) return in_step.error();
    job.permutation = in_step.value();
  }
  const std::uint64_t each = scenario.asked.ranks_per_host;
  job.together = scenario.asked.algorithm.algorithm == plan::Algorithm::kMultiSite &&
                 scenario.stages.empty() &&
                 each * each * scenario.asked.size <=
                     plan::combined_bytes_max(job.plan_request(0), packet_payload(job.config));
  const auto made = plan::make_plan(job.plan_request(0));
  if (!made) return made.error();
  const auto& planned = made.value().phases;
  if (std::any_of(planned.begin(), planned.end(),
                  [](const auto& phase) { return phase.reach == plan::Reach::kFar; })) {
    std::vector<std::uint32_t> site_of;  // [rank]
    for (const std::uint32_t host : job.placement.host_of) {
      site_of.push_back(scenario.site_of[host]);
    }
    job.phases.emplace(
        told, hosts_of_ranks(job.told_hosts, job.placement), site_of,
        execute::Wishes{scenario.asked.window_packets, scenario.asked.grain_packets});
  }
  job.combines = !planned.front().direct();
  job.limit = limit_seconds(scenario, network, job.combines);
  if (!scenario.matrix.empty()) job.of_hosts = host_matrix(scenario);
  job.steps = !job.combines && in_steps(scenario, job.of_hosts);
  const bool several = job.combines || planned.size() > 1;
  auto assigned = assigned_paths(scenario, network, several, [&job](std::uint32_t host) {
    return plan::make_plan(job.plan_request(host));
  });
  if (!assigned) return assigned.error();
  job.paths = std::move(assigned).value();
  return job;
}

plan::Request Job::plan_request(std::uint32_t host) const {
  const Options& asked = scenario.asked;
  return {.ranks = static_cast<std::uint32_t>(scenario.hosts.size()),
          .self = {host},
          .algorithm = asked.algorithm.algorithm,
          .permutation = permutation,
          .contention_aware = asked.contention_aware,
          .omega = asked.omega,
          .shape = asked.algorithm.shape,
          .leaf_of = leaf_of,
          .site_of = scenario.site_of,
          .combined = together};
}

void Job::configure_phase(const plan::Phase& phase, transport::Config& changed) const {
  std::optional<plan::FarLoad> load;
  if (phase.reach == plan::Reach::kFar && !scenario.complete()) {
    load = far_load(scenario, cluster, phase, limit);
  }
  phases->configure(changed, phase, load);
  // Near phases keep to the datagrams asked for.
  if (phase.reach == plan::Reach::kNear) changed.packet_time = config.packet_time;
}

clocks::RateClaim Job::claim_of(std::uint32_t rank) const {
  const base::HostId host = told_hosts[placement.host_of[rank]];
  return clocks::RateClaim(topology::claim_of(told, host, 0, topology::kHostLinksMax).mbit_s);
}

base::Result<plan::Plan> Job::plan(std::uint32_t rank) const {
  const std::uint32_t host = placement.host_of[rank];
  auto planned = plan::make_plan(plan_request(host));
  if (!planned) return planned;
  if (steps) add_steps(planned.value(), of_hosts, config, limit);
  if (!paths.empty()) {
    base::Rounds& rounds = planned.value().phases.front().rounds;
    for (const base::PeerId peer : rounds.send) {
      rounds.paths.push_back(paths[host * scenario.hosts.size() + peer]);
    }
  }
  return plan::over_hosts(planned.value(), placement, {rank});
}

harness::SimRequest Job::request() const {
  harness::SimRequest out;
  out.cluster = &cluster;
  out.hosts = host_of;
  out.bytes = scenario.asked.size;
  if (!scenario.complete()) {
    out.bytes_of = [this](std::uint32_t from, std::uint32_t to) {
      return scenario.bytes(from, to);
    };
  }
  out.exchanges = scenario.asked.exchanges;
  if (!scenario.stages.empty()) {
    out.bytes_of = nullptr;
    out.bytes_in = [this](std::uint32_t stage, std::uint32_t from, std::uint32_t to) {
      return scenario.bytes_in(stage, from, to);
    };
    out.stages = static_cast<std::uint32_t>(scenario.stages.size());
    out.exchanges *= out.stages;
    out.together = scenario.asked.steps_together;
  }
  out.overhead_bytes = topology::kIpUdpBytes + cluster.framing.link_header_bytes;
  out.network = scenario.network;
  out.jitter = scenario.jitter;
  out.memory_max = scenario.memory_max();
  out.messages = scenario.messages;
  out.striped = scenario.striped;
  out.tcp = scenario.tcp;
  if (out.tcp) out.together = true;  // a barrier between calls, as benchmarks have it
  out.config = [this](std::uint32_t) { return config; };
  if (scenario.asked.described && config.refuted_window_packets > 0) {
    out.claim = [this](std::uint32_t rank) { return claim_of(rank); };
  }
  out.plan = [this](std::uint32_t rank) { return plan(rank); };
  if (phases) {
    out.configure_phase = [this](std::uint32_t rank, std::uint32_t phase,
                                 transport::Config& changed) {
      const auto made = plan(rank);
      configure_phase(made.value().phases[phase], changed);
    };
  }
  return out;
}

}  // namespace alm::scenario

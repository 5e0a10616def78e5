#include "mpi/settings.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "execute/configuration.h"
#include "mpi/found_routes.h"
#include "mpi/peer_record.h"

namespace alm::mpi {

plan::LeafOf leaf_of(const topology::Cluster* cluster, std::span<const base::HostId> hosts) {
  plan::LeafOf leaves;
  if (cluster == nullptr) return leaves;
  for (const auto& level : topology::schedule_hierarchy(*cluster).level) {
    auto& level_leaf = leaves.emplace_back();
    for (const base::HostId host : hosts) level_leaf.push_back(level[host.value]);
  }
  return leaves;
}

plan::LeafOf leaves_of_ranks(const plan::LeafOf& of_hosts, const plan::Placement& placement) {
  if (!placement.shared()) return of_hosts;
  plan::LeafOf leaves = {placement.host_of};
  for (const auto& level : of_hosts) {
    auto& level_leaf = leaves.emplace_back();
    for (const std::uint32_t host : placement.host_of) level_leaf.push_back(level[host]);
  }
  return leaves;
}

std::vector<plan::Plan> make_phased(const base::Options& options, const plan::LeafOf& leaves,
                                    std::uint32_t ranks, std::uint32_t self, plan::Keep keep) {
  if (options.algorithm != kAutomatic && options.algorithm != kCombine) return {};
  constexpr std::uint32_t kPacketBytes = 1448;  // of blocks, at an MTU of 1500
  return plan::combining_plans(ranks, base::Rank{self}, leaves, kPacketBytes, keep);
}

bool knows_sites(const base::Options& options) {
  const auto algorithm = plan::parse_algorithm(options.algorithm);
  return algorithm && plan::knows_sites(algorithm.value());
}

bool may_take_sites(const base::Options& options) { return options.algorithm == kAutomatic; }

base::Result<plan::Request> site_request(const base::Options& options, const plan::LeafOf& leaves,
                                         std::span<const std::uint32_t> sites, std::uint32_t self) {
  const auto algorithm = may_take_sites(options)
                             ? base::Result<plan::Algorithm>(plan::Algorithm::kMultiSite)
                             : plan::parse_algorithm(options.algorithm);
  if (!algorithm) return algorithm.error();
  plan::Request request;
  request.ranks = static_cast<std::uint32_t>(sites.size());
  request.self = base::Rank{self};
  request.algorithm = algorithm.value();
  request.leaf_of = leaves;
  request.site_of.assign(sites.begin(), sites.end());
  return request;
}

base::Result<std::vector<plan::Plan>> make_site_plans(const plan::Request& request) {
  std::vector<plan::Plan> plans;
  plan::Request wanted = request;
  for (const bool combined : {false, true}) {
    if (combined && request.algorithm != plan::Algorithm::kMultiSite) continue;
    wanted.combined = combined;
    auto made = plan::make_plan(wanted);
    if (!made) return made.error();
    plans.push_back(std::move(made).value());
  }
  return plans;
}

base::Result<std::vector<plan::Plan>> all_site_plans(const plan::Request& request) {
  std::vector<plan::Plan> plans;
  plan::Request wanted = request;
  for (const auto algorithm :
       {plan::Algorithm::kMultiSite, plan::Algorithm::kLocalGroup, plan::Algorithm::kCoordinator}) {
    wanted.algorithm = algorithm;
    auto made = plan::make_plan(wanted);
    if (!made) return made.error();
    plans.push_back(std::move(made).value());
  }
  return plans;
}

bool wants_threads(const base::Options& options) {
  return options.progress == "thread" && !options.disable && options.algorithm != "native";
}

bool wants_trials(const base::Options& options) {
  return options.trials && options.algorithm == kAutomatic;
}

// A core brings 5 to 8 Gbit/s in and as many out (docs/adr/0020-several-leaders-per-host.md).
std::uint32_t leaders_wanted(const base::Options& options, const plan::Placement& placement,
                             const plan::Tuning* tuning) {
  constexpr double kLeaderMbitS = 5000;
  std::uint32_t wanted = 1;
  if (fixes_leaders(options)) {
    wanted = static_cast<std::uint32_t>(std::stoul(options.leaders_per_host));
  } else if (tuning != nullptr && wants_trials(options)) {
    const double cores = std::ceil(tuning->host_rate_mbit_s / kLeaderMbitS);
    wanted = static_cast<std::uint32_t>(std::clamp(cores, 1.0, double{kLeadersMax}));
  }
  return std::min(wanted, placement.fewest());
}

bool fixes_leaders(const base::Options& options) { return options.leaders_per_host != "auto"; }

base::Nanos hello_timeout(const base::Options& options) {
  return base::slowed(options.hello_timeout_ms * base::kMillisecond, options.time_scale);
}

base::Nanos peer_warning(const base::Options& options) {
  return base::slowed(options.peer_warning_s * base::kSecond, options.time_scale);
}

base::Nanos peer_timeout(const base::Options& options) {
  return base::slowed(options.peer_timeout_s * base::kSecond, options.time_scale);
}

base::Status check_path_options(const base::Options& options) {
  const auto possible = paths::check_paths(static_cast<std::uint32_t>(options.paths),
                                           static_cast<std::uint32_t>(options.path_batch));
  if (!possible) {
    return base::bad_input("ALLEMANDE_PATHS, ALLEMANDE_PATH_BATCH: " + possible.error().message);
  }
  if (options.paths > 1 && options.reliability == "go-back-n") {
    return base::bad_input(
        "ALLEMANDE_PATHS: several paths need ALLEMANDE_RELIABILITY=selective-repeat, because "
        "packets of different paths overtake each other");
  }
  return {};
}

io::EndpointOptions endpoint_options(const base::Options& options, const plan::Tuning* tuning,
                                     std::uint32_t links) {
  io::EndpointOptions endpoint;
  endpoint.mtu_bytes = options.mtu_bytes;
  if (endpoint.mtu_bytes == 0 && tuning != nullptr) endpoint.mtu_bytes = tuning->mtu_bytes;
  if (tuning != nullptr) {
    endpoint.grain_packets = tuning->grain_packets;
    endpoint.burst_packets = tuning->burst_packets;
    if (options.pacing != "off") {
      endpoint.pace_mbit_s = tuning->host_rate_mbit_s * links;
    }
  }
  if (options.grain_packets != 0) endpoint.grain_packets = options.grain_packets;
  const auto paths = static_cast<std::uint32_t>(options.paths);
  endpoint.paths = finds_routes(options, links) ? io::sockets_to_choose_for(paths)
                                                : io::sockets_for(paths, links);
  endpoint.allow_gso = options.gso != "off";
  endpoint.allow_gro = options.gro != "off";
  return endpoint;
}

transport::Config channel_config(const base::Options& options, const plan::Tuning* tuning,
                                 std::uint32_t datagram_bytes, std::uint32_t receive_buffer_bytes) {
  transport::Config config;
  config.datagram_bytes = datagram_bytes;
  config.window_packets = kDefaultWindowPackets;
  execute::configure(config, tuning, {options.window_packets, options.grain_packets});
  // Beyond what the sockets were granted packets would be lost at the receiver.
  config.window_packets =
      std::clamp(config.window_packets, 1u,
                 std::max(1u, io::packets_that_fit(receive_buffer_bytes, datagram_bytes)));
  if (options.integrity == "header") config.covers = wire::Covers::kHeader;
  if (options.reliability == "go-back-n") {
    config.reliability = transport::Reliability::kGoBackN;
  }
  if (options.send_rule == "receive-clock") {
    config.send_rule = transport::SendRule::kReceiveClock;
  } else if (options.send_rule == "unacked") {
    config.send_rule = transport::SendRule::kUnacked;
  }
  config.paths = static_cast<std::uint32_t>(options.paths);
  config.path_rule = paths::parse_path_rule(options.path_policy).value();
  config.path_batch = static_cast<std::uint32_t>(options.path_batch);
  config.yields = options.congestion_control != "off";
  config.slow_down(options.time_scale);
  config.peer_warning = peer_warning(options);
  config.peer_timeout = peer_timeout(options);
  return config;
}

base::Result<plan::Plan> make_rounds(const base::Options& options, const plan::LeafOf& leaves,
                                     std::uint32_t ranks, std::uint32_t self) {
  plan::Algorithm algorithm = plan::Algorithm::kSyncShuffle;
  if (options.algorithm != kAutomatic && options.algorithm != kCombine && !knows_sites(options)) {
    const auto named = plan::parse_algorithm(options.algorithm);
    if (!named) return named.error();
    algorithm = named.value();
  }
  const auto permutation = plan::parse_permutation(options.permutation);
  if (!permutation) return permutation.error();

  plan::Request request;
  request.ranks = ranks;
  request.self = base::Rank{self};
  request.algorithm = algorithm;
  request.permutation = permutation.value();
  request.omega = options.omega;
  request.leaf_of = leaves;
  return plan::make_plan(request);
}

}  // namespace alm::mpi

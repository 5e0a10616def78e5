#include "ways/plan_settings.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "meeting/peer_record.h"

namespace alm::ways {

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
    wanted = static_cast<std::uint32_t>(std::clamp(cores, 1.0, double{meeting::kLeadersMax}));
  }
  return std::min(wanted, placement.fewest());
}

bool fixes_leaders(const base::Options& options) { return options.leaders_per_host != "auto"; }

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

}  // namespace alm::ways

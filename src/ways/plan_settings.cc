#include "ways/plan_settings.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "meeting/peer_record.h"

namespace alm::ways {

plan::LeafOf leaves_of_ranks(const plan::LeafOf& of_hosts, const plan::Placement& placement) {
  if (!placement.shared()) return of_hosts;
  plan::LeafOf leaves = {placement.host_of};
  for (const auto& level : of_hosts) {
    auto& level_leaf = leaves.emplace_back();
    for (const std::uint32_t host : placement.host_of) level_leaf.push_back(level[host]);
  }
  return leaves;
}

bool knows_sites(const base::Options& options) {
  const auto algorithm = plan::parse_algorithm(options.algorithm);
  return algorithm && plan::knows_sites(algorithm.value());
}

bool may_take_sites(const base::Options& options) { return options.algorithm == kAutomatic; }

base::Result<plan::Request> site_request(const base::Options& options, const plan::LeafOf& leaves,
                                         std::span<const std::uint32_t> sites, std::uint32_t self) {
  const auto algorithm = plan::parse_algorithm(options.algorithm);
  if (!algorithm) return algorithm.error();
  plan::Request request;
  request.ranks = static_cast<std::uint32_t>(sites.size());
  request.self = base::Rank{self};
  request.algorithm = algorithm.value();
  request.leaf_of = leaves;
  request.site_of.assign(sites.begin(), sites.end());
  return request;
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

namespace {

base::Result<plan::Algorithm> rounds_of(const base::Options& options) {
  const bool named =
      options.algorithm != kAutomatic && options.algorithm != kCombine && !knows_sites(options);
  if (!named) return plan::Algorithm::kSyncShuffle;
  return plan::parse_algorithm(options.algorithm);
}

}  // namespace

base::Result<plan::Plan> make_rounds(const base::Options& options, const plan::LeafOf& leaves,
                                     std::uint32_t ranks, std::uint32_t self) {
  const auto algorithm = rounds_of(options);
  if (!algorithm) return algorithm.error();
  const auto permutation = plan::parse_permutation(options.permutation);
  if (!permutation) return permutation.error();
  plan::Request request;
  request.ranks = ranks;
  request.self = base::Rank{self};
  request.algorithm = algorithm.value();
  request.permutation = permutation.value();
  request.omega = options.omega;
  request.leaf_of = leaves;
  return plan::make_plan(request);
}

base::Result<tuning::OwnWaysWanted> own_ways_wanted(const base::Options& options,
                                                    const meeting::Members& members) {
  const auto algorithm = rounds_of(options);
  if (!algorithm) return algorithm.error();
  const auto permutation = plan::parse_permutation(options.permutation);
  if (!permutation) return permutation.error();
  tuning::OwnWaysWanted out;
  out.hosts = members.placement.hosts();
  out.self = members.host;
  out.leaves = members.leaves;
  out.sites = members.sites;
  out.rounds = algorithm.value();
  out.permutation = permutation.value();
  out.omega = options.omega;
  out.always_combines = options.algorithm == kCombine;
  out.combines = out.always_combines || options.algorithm == kAutomatic;
  if (knows_sites(options)) out.between_sites = plan::parse_algorithm(options.algorithm).value();
  return out;
}

}  // namespace alm::ways

#include "tuning/own_ways.h"

#include <algorithm>
#include <map>
#include <utility>

#include "plan/multi_site.h"
#include "tuning/way_key.h"

namespace alm::tuning {
namespace {

// What a packet holds of blocks at an MTU of 1500, until the packets are known.
constexpr std::uint32_t kUsualPacketBytes = 1448;

plan::Request request_of(const OwnWaysWanted& wanted) {
  return {.ranks = wanted.hosts,
          .self = {wanted.self},
          .leaf_of = wanted.leaves,
          .site_of = wanted.sites};
}

}  // namespace

base::Result<OwnWays> OwnWays::make(OwnWaysWanted wanted) {
  OwnWays out;
  out.wanted_ = std::move(wanted);
  plan::Request request = request_of(out.wanted_);
  request.site_of.clear();
  request.algorithm = out.wanted_.rounds;
  request.permutation = out.wanted_.permutation;
  request.omega = out.wanted_.omega;
  auto rounds = plan::make_plan(request);
  if (!rounds) return rounds.error();
  out.rounds_ = std::move(rounds).value();
  if (out.know_sites()) {
    if (auto planned = out.plan_sites(); !planned) return planned.error();
  }
  out.fit(kUsualPacketBytes, true);
  out.packet_bytes_ = 0;
  return out;
}

// All candidates, or the one that is named: multi-site for large blocks, and for small ones, which
// go as in local group; coordinators.
base::Status OwnWays::plan_sites() {
  using plan::Algorithm;
  std::vector<std::pair<Algorithm, bool>> made = {{Algorithm::kMultiSite, false},
                                                  {Algorithm::kLocalGroup, false},
                                                  {Algorithm::kCoordinator, false}};
  if (const auto named = wanted_.between_sites) {
    made = {{*named, false}};
    if (is_multi_site()) made.emplace_back(*named, true);
  }
  plan::Request request = request_of(wanted_);
  for (const auto& [algorithm, combined] : made) {
    request.algorithm = algorithm;
    request.combined = combined;
    auto plan = plan::make_plan(request);
    if (!plan) return plan.error();
    of_sites_.push_back(std::move(plan).value());
  }
  return {};
}

bool OwnWays::is_multi_site() const {
  return know_sites() &&
         wanted_.between_sites.value_or(plan::Algorithm::kMultiSite) == plan::Algorithm::kMultiSite;
}

void OwnWays::fit(std::uint32_t packet_bytes, bool keep_all) {
  packet_bytes_ = packet_bytes;
  phased_.clear();
  if (wanted_.combines) {
    phased_ = plan::combining_plans(wanted_.hosts, {wanted_.self}, wanted_.leaves, packet_bytes,
                                    keep_all ? plan::Keep::kAll : plan::Keep::kUseful);
  }
  phased_.insert(phased_.end(), of_sites_.begin(), of_sites_.end());
  if (!is_multi_site()) return;
  plan::Request request = request_of(wanted_);
  request.algorithm = plan::Algorithm::kMultiSite;
  site_combined_max_ = plan::combined_bytes_max(request, packet_bytes);
}

std::size_t OwnWays::phases_max() const {
  std::size_t count =
      wanted_.combines ? plan::combining_phases_max(wanted_.hosts, wanted_.leaves) : 0;
  for (const plan::Plan& plan : of_sites_) count += plan.phases.size();
  return count;
}

void OwnWays::foresee(const model::Profile& profile, std::span<const std::string> names,
                      const plan::Tuning* tuning) {
  forecast_ = std::make_unique<Forecast>(profile, names, wanted_.sites);
  forecast_->add(rounds_, wanted_.leaves, tuning);
  for (const plan::Plan& plan : phased_) forecast_->add(plan, wanted_.leaves, tuning);
}

void OwnWays::foresee(const topology::Cluster& cluster, std::span<const base::HostId> hosts,
                      const plan::Tuning* tuning) {
  network_ = std::make_unique<model::Profile>();
  for (const base::HostId host : hosts) {
    network_->hosts.push_back(cluster.hosts[host.value].name);
  }
  network_->cluster = cluster;
  foresee(*network_, network_->hosts, tuning);
}

Foreseen OwnWays::foreseen(std::string_view key, std::uint64_t bytes) const {
  return forecast_ ? forecast_->of(key, bytes) : Foreseen{};
}

Way OwnWays::by_packets(std::uint64_t bytes, bool in_phases, Way rounds) const {
  if (know_sites()) {
    const std::size_t first = phased_.size() - of_sites_.size();
    return phased_way(first + (is_multi_site() && bytes <= site_combined_max_ ? 1 : 0));
  }
  if (!in_phases || phased_.empty()) return rounds;
  if (const auto chosen = plan::choose_combining(phased_, bytes, packet_bytes_)) {
    return phased_way(*chosen);
  }
  return wanted_.always_combines ? phased_way(0) : rounds;
}

Way OwnWays::first(std::uint64_t bytes, bool in_phases, Way rounds) const {
  Way best = by_packets(bytes, in_phases, rounds);
  if (!forecast_ || !in_phases || phased_.empty() || wanted_.between_sites) return best;
  const auto foresee = [&](Way way) {
    return way.kind == Way::Kind::kShared ? Foreseen{} : foreseen(key_of(way), bytes);
  };
  Foreseen least = foresee(best);
  const auto consider = [&](Way way) {
    const Foreseen one = foresee(way);
    if (!one.comparable(least) || one.time >= least.time) return;
    best = way;
    least = one;
  };
  if (!wanted_.always_combines) consider({});
  for (std::size_t i = 0; i < phased_.size(); ++i) consider(phased_way(i));
  return best;
}

std::optional<Way> OwnWays::any_size_between_sites() const {
  if (!is_multi_site()) return std::nullopt;
  return phased_way(phased_.size() - of_sites_.size());
}

std::string OwnWays::key_of(Way way) const {
  return key_over_udp(way.kind == Way::Kind::kPhased ? phased_[way.index].identity
                                                     : rounds_.identity);
}

std::vector<std::uint32_t> sites_of(const topology::Cluster& cluster,
                                    std::span<const base::HostId> hosts) {
  const topology::Sites sites = topology::sites(cluster);
  std::map<std::uint32_t, std::uint32_t> numbers;
  std::vector<std::uint32_t> out;
  for (const base::HostId host : hosts) {
    if (sites.of.empty()) break;
    const auto next = static_cast<std::uint32_t>(numbers.size());
    out.push_back(numbers.try_emplace(sites.of[host.value], next).first->second);
  }
  return numbers.size() < 2 ? std::vector<std::uint32_t>() : out;
}

}  // namespace alm::tuning

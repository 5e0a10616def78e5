#include "scenario/sites.h"

#include <fmt/core.h>

#include <map>
#include <utility>

#include "plan/check.h"

namespace alm::scenario {
namespace {

constexpr std::uint32_t kProvenRanksMax = 256;

std::uint64_t pairs_apart(const std::vector<std::uint32_t>& part_of) {
  std::uint64_t pairs = 0;
  for (const std::uint32_t from : part_of) {
    for (const std::uint32_t to : part_of) pairs += from != to ? 1 : 0;
  }
  return pairs;
}

}  // namespace

std::vector<std::uint32_t> numbered_from_0(const std::vector<std::uint32_t>& sites) {
  std::map<std::uint32_t, std::uint32_t> numbers;
  std::vector<std::uint32_t> out;
  for (const std::uint32_t site : sites) {
    const auto next = static_cast<std::uint32_t>(numbers.size());
    out.push_back(numbers.try_emplace(site, next).first->second);
  }
  return out;
}

plan::FarLoad far_load(const Scenario& scenario, const topology::Cluster& cluster,
                       const plan::Phase& phase, double limit_seconds) {
  plan::FarLoad load{limit_seconds, 0};
  plan::Move direct;
  for (std::size_t i = 0; i < phase.rounds.send.size(); ++i) {
    std::uint64_t bytes = 0;
    for (const plan::Move& move : phase.sends(i, direct)) {
      bytes += scenario.bytes(move.origin.value, move.destination.value);
    }
    load.wire_bytes += topology::framed_bytes(cluster.framing, bytes);
  }
  return load;
}

base::Result<std::vector<Crossing>> crossings_of(
    const Scenario& scenario, const plan::LeafOf& leaf_of, const plan::Placement& placement,
    const std::function<base::Result<plan::Plan>(std::uint32_t rank)>& plan_of) {
  std::vector<Crossing> out;
  const std::uint32_t ranks = scenario.ranks();
  if (scenario.site_of.empty() || !scenario.stages.empty() || ranks > kProvenRanksMax) return out;
  std::vector<plan::Plan> plans;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    auto planned = plan_of(rank);
    if (!planned) return planned.error();
    plans.push_back(std::move(planned).value());
  }
  plan::LeafOf hosts = leaf_of;
  if (!hosts.empty()) hosts.pop_back();  // all of them
  for (std::size_t level = 0; level < hosts.size(); ++level) {
    out.push_back({level == 0 ? "leaf" : fmt::format("level {}", level + 1)});
  }
  hosts.push_back(scenario.site_of);
  out.push_back({"site"});
  plan::LeafOf levels;
  for (const auto& of_host : hosts) {
    auto& of_rank = levels.emplace_back();
    for (const std::uint32_t host : placement.host_of) of_rank.push_back(of_host[host]);
  }
  const plan::Proof proof = plan::prove(plans, levels);
  if (!proof.wrong.empty()) return base::bad_input(proof.wrong);
  for (std::size_t level = 0; level < levels.size(); ++level) {
    const auto least = static_cast<double>(pairs_apart(levels[level]));
    const auto crossing = static_cast<double>(proof.crossings[level].blocks);
    out[level].ratio = least == 0 ? 1.0 : crossing / least;
  }
  return out;
}

}  // namespace alm::scenario

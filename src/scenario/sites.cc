#include "scenario/sites.h"

#include <fmt/core.h>

#include <map>

#include "bindings/bindings.h"
#include "plan/check.h"

namespace alm::bindings {
namespace {

namespace nb = nanobind;

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

plan::FarLoad far_load(const SimulateOptions& options, const topology::Cluster& cluster,
                       const plan::FarTuner& tuner, const plan::Phase& phase,
                       double limit_seconds) {
  if (options.complete()) return tuner.equal_load(phase);
  plan::FarLoad load{limit_seconds, 0};
  plan::Move direct;
  for (std::size_t i = 0; i < phase.rounds.send.size(); ++i) {
    std::uint64_t bytes = 0;
    for (const plan::Move& move : phase.sends(i, direct)) {
      bytes += options.bytes(move.origin.value, move.destination.value);
    }
    load.wire_bytes += topology::framed_bytes(cluster.framing, bytes);
  }
  return load;
}

nb::dict crossings_of(const SimulateOptions& options, const plan::LeafOf& leaf_of,
                      const plan::Placement& placement,
                      const std::function<base::Result<plan::Plan>(std::uint32_t rank)>& plan_of) {
  nb::dict out;
  const std::uint32_t ranks = options.ranks();
  if (options.site_of.empty() || !options.stages.empty() || ranks > kProvenRanksMax) return out;
  std::vector<plan::Plan> plans;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    plans.push_back(value_or_raise(plan_of(rank)));
  }
  plan::LeafOf hosts = leaf_of;
  if (!hosts.empty()) hosts.pop_back();  // all of them
  std::vector<std::string> names;
  for (std::size_t level = 0; level < hosts.size(); ++level) {
    names.push_back(level == 0 ? "leaf" : fmt::format("level {}", level + 1));
  }
  hosts.push_back(options.site_of);
  names.emplace_back("site");
  plan::LeafOf levels;
  for (const auto& of_host : hosts) {
    auto& of_rank = levels.emplace_back();
    for (const std::uint32_t host : placement.host_of) of_rank.push_back(of_host[host]);
  }
  const plan::Proof proof = plan::prove(plans, levels);
  if (!proof.wrong.empty()) throw RaisedError{base::bad_input(proof.wrong)};
  for (std::size_t level = 0; level < levels.size(); ++level) {
    const auto least = static_cast<double>(pairs_apart(levels[level]));
    const auto crossing = static_cast<double>(proof.crossings[level].blocks);
    out[names[level].c_str()] = least == 0 ? 1.0 : crossing / least;
  }
  return out;
}

}  // namespace alm::bindings

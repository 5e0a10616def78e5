#include "phased_scenario.h"

#include <algorithm>
#include <iterator>
#include <sstream>
#include <string_view>
#include <utility>

#include "draw.h"
#include "plan/host_aggregation.h"
#include "wire/header.h"

namespace alm::swarm {
namespace {

using plan::Algorithm;

constexpr std::string_view kHostNames[] = {"a", "b", "c", "d", "e", "f", "g", "h",
                                           "i", "j", "k", "l", "m", "n", "o", "p"};

// One rank on each host, several on each, or unequal numbers. The ranks of a host need not be
// neighbours.
plan::Placement draw_placement(Draw& draw) {
  std::vector<std::string_view> names;
  const std::uint64_t kind = draw.below(5);
  if (kind <= 1) {
    const std::uint64_t hosts = 2 + draw.below(15);
    names.assign(kHostNames, kHostNames + hosts);
    return plan::Placement::of(names);
  }
  const std::uint64_t hosts = draw.below(20) == 0 ? 1 : 2 + draw.below(5);
  const std::uint64_t each = 2 + draw.below(2);
  for (std::uint64_t host = 0; host < hosts; ++host) {
    names.insert(names.end(), kind == 2 ? each : 1 + draw.below(4), kHostNames[host]);
  }
  for (std::size_t left = draw.below(2) == 0 ? names.size() : 0; left > 1; --left) {
    std::swap(names[left - 1], names[draw.below(left)]);
  }
  return plan::Placement::of(names);
}

// Sides whose product is the number of ranks; empty: those that the plan takes by itself.
std::vector<std::uint32_t> draw_sides(Draw& draw, std::uint32_t ranks) {
  std::vector<std::uint32_t> sides;
  for (std::uint32_t side = 2; ranks > 1 && draw.below(8) != 0; ++side) {
    while (ranks % side == 0 && (ranks == side || draw.below(3) != 0)) {
      sides.push_back(side);
      ranks /= side;
    }
  }
  if (ranks > 1 && !sides.empty()) sides.push_back(ranks);
  return sides.size() < 2 ? std::vector<std::uint32_t>{} : sides;
}

std::vector<std::uint32_t> draw_shape(Draw& draw, Algorithm algorithm, std::uint32_t ranks) {
  if (draw.below(3) == 0) return {};
  if (algorithm == Algorithm::kGrid) return draw_sides(draw, ranks);
  if (algorithm == Algorithm::kOneWayBruck) return {static_cast<std::uint32_t>(2 + draw.below(3))};
  if (algorithm == Algorithm::kBruck) {
    return std::vector<std::uint32_t>(1 + draw.below(2),
                                      static_cast<std::uint32_t>(3 + 2 * draw.below(2)));
  }
  return {};
}

// Where a host has several ranks every plan of the hosts has several phases; elsewhere those that
// combine have.
plan::Request draw_request(Draw& draw, const plan::Placement& placement) {
  // Bruck's messages are those of which some may leave while others of their phase wait.
  constexpr Algorithm kCombining[] = {
      Algorithm::kGrid,        Algorithm::kBruck,       Algorithm::kBruck,
      Algorithm::kOneWayBruck, Algorithm::kOneWayBruck, Algorithm::kRecursiveDoubling,
      Algorithm::kLocalGroup,  Algorithm::kCoordinator, Algorithm::kMultiSite};
  constexpr Algorithm kDirect[] = {Algorithm::kDirect, Algorithm::kPairwise,
                                   Algorithm::kGroupShuffle, Algorithm::kSyncShuffle};
  while (true) {
    plan::Request request;
    request.ranks = placement.hosts();
    request.self = {0};
    const bool direct = placement.shared() && draw.below(2) == 0;
    request.algorithm = direct ? kDirect[draw.below(std::size(kDirect))]
                               : kCombining[draw.below(std::size(kCombining))];
    request.shape = draw_shape(draw, request.algorithm, request.ranks);
    if (plan::knows_sites(request.algorithm)) {
      const std::uint64_t sites = 2 + draw.below(4);
      for (std::uint32_t host = 0; host < request.ranks; ++host) {
        request.site_of.push_back(static_cast<std::uint32_t>(draw.below(sites)));
      }
      request.combined = request.algorithm == Algorithm::kMultiSite && draw.below(2) == 0;
    }
    if (draw.below(3) == 0) {
      request.leaf_of.emplace_back();
      for (std::uint32_t host = 0; host < request.ranks; ++host) {
        request.leaf_of.front().push_back(host % 3);
      }
    }
    if (plan::make_plan(request)) return request;
  }
}

PhasedExchange draw_exchange(Draw& draw, const PhasedScenario& scenario) {
  const std::uint64_t payload = scenario.config.datagram_bytes - wire::kHeaderBytes;
  const std::uint32_t ranks = scenario.ranks();
  const std::uint64_t shape = draw.below(8);
  const std::uint64_t largest = 1 + draw.below(payload * (draw.below(10) == 0 ? 20 : 2));
  const std::uint64_t hot = draw.below(ranks);
  PhasedExchange exchange;
  exchange.sizes = shape <= 2 ? Sizes::kEqual : shape == 3 ? Sizes::kWeighted : Sizes::kAny;
  exchange.each = draw.below(20) == 0 ? 0 : exchange.sizes == Sizes::kEqual ? largest : largest / 2;
  for (std::uint32_t from = 0; from < ranks; ++from) {
    for (std::uint32_t to = 0; to < ranks; ++to) {
      std::uint64_t cell = 0;
      if (shape <= 2) cell = exchange.each;
      if (shape == 3) cell = exchange.each * scenario.weights[from] * scenario.weights[to];
      if (shape == 4) cell = draw.below(largest + 1);
      if (shape == 5) cell = draw.below(3) == 0 ? draw.below(largest) : 0;  // sparse
      if (shape == 6) cell = from == hot ? largest : 0;                     // one to all
      if (shape == 7) cell = to == hot ? largest : draw.below(3);           // hot receiver
      exchange.bytes.push_back(cell);
    }
    exchange.think.push_back(draw_think(draw));
  }
  return exchange;
}

}  // namespace

plan::Plan PhasedScenario::plan_of(std::uint32_t rank) const {
  plan::Request request = of_hosts;
  request.self = {placement.host_of[rank]};
  return plan::over_hosts(plan::make_plan(request).value(), placement, {rank});
}

PhasedScenario random_phased_scenario(std::uint64_t seed) {
  Draw draw(seed * 6007);
  PhasedScenario scenario;
  scenario.placement = draw_placement(draw);
  scenario.of_hosts = draw_request(draw, scenario.placement);
  scenario.config = draw_config(draw);
  scenario.conditions.faults = draw_faults(draw);
  scenario.conditions.packet_time = scenario.config.packet_time;
  scenario.conditions.port_queue = draw_port_queue(draw);
  scenario.conditions.seed = seed;
  scenario.conditions.time_max = 600 * base::kSecond;
  for (std::uint32_t rank = 0; rank < scenario.ranks(); ++rank) {
    scenario.weights.push_back(1 + draw.below(3));
  }
  const std::uint64_t exchanges = 3 + draw.below(6);
  while (scenario.exchanges.size() < exchanges) {
    scenario.exchanges.push_back(draw_exchange(draw, scenario));
  }
  return scenario;
}

std::string describe(const PhasedScenario& scenario) {
  const transport::Config& config = scenario.config;
  const Conditions& conditions = scenario.conditions;
  std::ostringstream text;
  text << scenario.placement.text() << ", " << scenario.plan_of(0).identity << ", "
       << scenario.exchanges.size() << " exchanges, window " << config.window_packets << ", grain "
       << config.grain_packets
       << (config.reliability == transport::Reliability::kGoBackN ? ", go-back-N" : "") << ", drop "
       << conditions.faults.drop << ", duplicate " << conditions.faults.duplicate << ", reorder "
       << conditions.faults.reorder << ", corrupt " << conditions.faults.corrupt << ", port queue "
       << conditions.port_queue;
  return text.str();
}

}  // namespace alm::swarm

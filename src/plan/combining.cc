#include "plan/combining.h"

#include <algorithm>

#include "plan/bruck.h"
#include "plan/grid.h"

namespace alm::plan {
namespace {

constexpr double kWireGrowthMax = 1.5;

// One plan for each number of phases.
static_assert(kGridDimensionsMax == 5 && kBruckPhasesMax == 5);

// All shapes of one algorithm, by the number of phases.
std::vector<Plan> plans_of(Algorithm algorithm, const Request& ranks_and_leaves,
                           const std::vector<std::vector<std::uint32_t>>& shapes) {
  std::vector<Plan> plans;
  Request request = ranks_and_leaves;
  request.algorithm = algorithm;
  for (const auto& shape : shapes) {
    request.shape = shape;
    plans.push_back(make_plan(request).value());
  }
  return plans;
}

std::vector<Plan> those_taken(std::vector<Plan> all, std::uint32_t packet_bytes) {
  std::vector<bool> taken(all.size());
  if (!taken.empty()) taken.front() = true;
  // Each size in packets of Ethernet, and as many sizes in larger ones.
  constexpr std::uint32_t kUsual = 1448;
  const std::uint32_t apart = std::max(1u, packet_bytes / kUsual);
  for (std::uint64_t bytes = 1; bytes <= packet_bytes; bytes += apart) {
    if (const auto chosen = choose_combining(all, bytes, packet_bytes)) taken[*chosen] = true;
  }
  std::vector<Plan> useful;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (taken[i]) useful.push_back(std::move(all[i]));
  }
  return useful;
}

}  // namespace

Traffic direct_traffic(std::uint32_t ranks, std::uint64_t bytes, std::uint32_t packet_bytes) {
  return message_traffic(ranks - 1, bytes, packet_bytes);
}

Traffic traffic_of(const Plan& plan, std::uint64_t bytes, std::uint32_t packet_bytes) {
  Traffic sum;
  Move direct;
  for (const Phase& phase : plan.phases) {
    for (std::size_t i = 0; i < phase.rounds.send.size(); ++i) {
      sum += message_traffic(1, bytes * phase.sends(i, direct).size(), packet_bytes);
    }
  }
  return sum;
}

std::uint64_t cost_of(const Plan& plan, std::uint64_t bytes, std::uint32_t packet_bytes) {
  return traffic_of(plan, bytes, packet_bytes).packets + kPhasePackets * plan.phases.size();
}

std::uint64_t direct_cost(std::uint32_t ranks, std::uint64_t bytes, std::uint32_t packet_bytes) {
  return direct_traffic(ranks, bytes, packet_bytes).packets + kPhasePackets;
}

std::optional<std::size_t> choose_combining(std::span<const Plan> all, std::uint64_t bytes,
                                            std::uint32_t packet_bytes) {
  std::optional<std::size_t> best;
  std::uint64_t least = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Traffic direct = direct_traffic(all[i].ranks, bytes, packet_bytes);
    const Traffic combined = traffic_of(all[i], bytes, packet_bytes);
    const auto allowed = kWireGrowthMax * static_cast<double>(direct.wire_bytes);
    if (2 * combined.packets > direct.packets) continue;
    if (static_cast<double>(combined.wire_bytes) > allowed) continue;
    const std::uint64_t cost = combined.packets + kPhasePackets * all[i].phases.size();
    if (best && cost >= least) continue;
    best = i;
    least = cost;
  }
  return best;
}

std::size_t combining_phases_max(std::uint32_t ranks, const LeafOf& leaf_of) {
  if (ranks < 2) return 0;
  std::size_t of_grids = 0, of_brucks = 0;
  for (const auto& grid : make_grids(ranks, {0}, leaf_of)) of_grids += grid.lengths.size();
  for (const auto& bruck : make_brucks(ranks)) of_brucks += shape_of(bruck).size();
  return std::max(of_grids, of_brucks);
}

std::vector<Plan> combining_plans(std::uint32_t ranks, base::Rank self, const LeafOf& leaf_of,
                                  std::uint32_t packet_bytes, Keep keep) {
  if (ranks < 2) return {};
  std::vector<std::vector<std::uint32_t>> sides;
  std::vector<std::vector<std::uint32_t>> digits;
  for (auto& grid : make_grids(ranks, self, leaf_of)) sides.push_back(std::move(grid.lengths));
  for (const auto& bruck : make_brucks(ranks)) digits.push_back(shape_of(bruck));
  Request request;
  request.ranks = ranks;
  request.self = self;
  request.leaf_of = leaf_of;
  auto grids = plans_of(Algorithm::kGrid, request, sides);
  auto brucks = plans_of(Algorithm::kBruck, request, digits);
  const auto grid = choose_combining(grids, 1, packet_bytes);
  const auto bruck = choose_combining(brucks, 1, packet_bytes);
  const bool better = bruck && (!grid || cost_of(brucks[*bruck], 1, packet_bytes) <
                                             cost_of(grids[*grid], 1, packet_bytes));
  const bool needed = better || grids.empty();
  auto plans = needed ? std::move(brucks) : std::move(grids);
  return keep == Keep::kAll ? plans : those_taken(std::move(plans), packet_bytes);
}

}  // namespace alm::plan

#include "plan/phased.h"

#include <numeric>

namespace alm::plan {
namespace {

constexpr double kWireGrowthMax = 1.5;

std::uint32_t ranks_of(const Phased& phased) {
  if (const auto* grid = std::get_if<Grid>(&phased)) {
    return static_cast<std::uint32_t>(grid->at.size());
  }
  return std::get<Bruck>(phased).ranks;
}

std::string joined(const std::vector<std::uint32_t>& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), std::string(),
                         [](const std::string& text, std::uint32_t number) {
                           return text + (text.empty() ? "" : " x ") + std::to_string(number);
                         });
}

std::vector<Phased> those_taken(std::vector<Phased> all, std::uint32_t packet_bytes) {
  std::vector<bool> taken(all.size());
  if (!taken.empty()) taken.front() = true;
  for (std::uint64_t bytes = 1; bytes <= packet_bytes; ++bytes) {
    if (const auto chosen = choose_phased(all, bytes, packet_bytes)) taken[*chosen] = true;
  }
  std::vector<Phased> useful;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (taken[i]) useful.push_back(std::move(all[i]));
  }
  return useful;
}

}  // namespace

std::size_t phases_of(const Phased& phased) {
  if (const auto* grid = std::get_if<Grid>(&phased)) return grid->dimensions();
  return std::get<Bruck>(phased).phases.size();
}

std::string text_of(const Phased& phased) {
  if (const auto* grid = std::get_if<Grid>(&phased)) return "grid " + joined(grid->lengths);
  const auto& bruck = std::get<Bruck>(phased);
  std::vector<std::uint32_t> partners;
  for (const auto& phase : bruck.phases) {
    partners.push_back(static_cast<std::uint32_t>(phase.shift.size()) + 1);
  }
  return "bruck " + joined(partners);
}

Traffic direct_traffic(std::uint32_t ranks, std::uint64_t bytes, std::uint32_t packet_bytes) {
  return message_traffic(ranks - 1, bytes, packet_bytes);
}

Traffic traffic_of(const Phased& phased, std::uint64_t bytes, std::uint32_t packet_bytes) {
  if (const auto* grid = std::get_if<Grid>(&phased)) {
    return grid_traffic(*grid, bytes, packet_bytes);
  }
  return bruck_traffic(std::get<Bruck>(phased), bytes, packet_bytes);
}

std::uint64_t cost_of(const Phased& phased, std::uint64_t bytes, std::uint32_t packet_bytes) {
  return traffic_of(phased, bytes, packet_bytes).packets + kPhasePackets * phases_of(phased);
}

std::uint64_t direct_cost(std::uint32_t ranks, std::uint64_t bytes, std::uint32_t packet_bytes) {
  return direct_traffic(ranks, bytes, packet_bytes).packets + kPhasePackets;
}

std::optional<std::size_t> choose_phased(std::span<const Phased> all, std::uint64_t bytes,
                                         std::uint32_t packet_bytes) {
  std::optional<std::size_t> best;
  std::uint64_t least = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Traffic direct = direct_traffic(ranks_of(all[i]), bytes, packet_bytes);
    const Traffic combined = traffic_of(all[i], bytes, packet_bytes);
    const auto allowed = kWireGrowthMax * static_cast<double>(direct.wire_bytes);
    if (2 * combined.packets > direct.packets) continue;
    if (static_cast<double>(combined.wire_bytes) > allowed) continue;
    const std::uint64_t cost = cost_of(all[i], bytes, packet_bytes);
    if (best && cost >= least) continue;
    best = i;
    least = cost;
  }
  return best;
}

std::vector<Phased> make_phased(std::uint32_t ranks, base::Rank self,
                                std::span<const std::vector<std::uint32_t>> group_of,
                                std::uint32_t packet_bytes) {
  std::vector<Phased> grids;
  std::vector<Phased> brucks;
  for (auto& grid : make_grids(ranks, self, group_of)) grids.emplace_back(std::move(grid));
  for (auto& bruck : make_brucks(ranks)) brucks.emplace_back(std::move(bruck));
  const auto grid = choose_phased(grids, 1, packet_bytes);
  const auto bruck = choose_phased(brucks, 1, packet_bytes);
  const bool better = bruck && (!grid || cost_of(brucks[*bruck], 1, packet_bytes) <
                                             cost_of(grids[*grid], 1, packet_bytes));
  const bool needed = better || grids.empty();
  return those_taken(needed ? std::move(brucks) : std::move(grids), packet_bytes);
}

}  // namespace alm::plan

#include "plan/grid.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace alm::plan {
namespace {

// Header, IPv4, UDP and Ethernet around the payload of a packet.
constexpr std::uint64_t kFramingBytes = 66;

struct Traffic {
  std::uint64_t packets = 0, wire_bytes = 0;
};

Traffic traffic(std::uint64_t messages, std::uint64_t bytes, std::uint32_t packet_bytes) {
  const std::uint64_t packets = (bytes + packet_bytes - 1) / packet_bytes;
  return {messages * packets, messages * (bytes + packets * kFramingBytes)};
}

// Ranks of one leaf side by side, leaves of one switch above side by side, and so on.
std::vector<base::Rank> by_hierarchy(std::uint32_t ranks,
                                     std::span<const std::vector<std::uint32_t>> group_of) {
  std::vector<base::Rank> order;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) order.push_back(base::Rank{rank});
  for (const auto& groups : group_of) {
    std::stable_sort(order.begin(), order.end(),
                     [&](base::Rank a, base::Rank b) { return groups[a.value] < groups[b.value]; });
  }
  return order;
}

bool rows_within_leaves(const std::vector<base::Rank>& order, std::uint32_t columns,
                        const std::vector<std::uint32_t>& leaf_of) {
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::size_t first = i - i % columns;
    if (leaf_of[order[i].value] != leaf_of[order[first].value]) return false;
  }
  return true;
}

}  // namespace

std::optional<Grid> make_grid(std::uint32_t ranks, base::Rank self,
                              std::span<const std::vector<std::uint32_t>> group_of) {
  Grid best;
  const auto order = by_hierarchy(ranks, group_of);
  auto least = std::tuple(ranks, true, 0u);
  for (std::uint32_t columns = 2; columns <= ranks / 2; ++columns) {
    if (ranks % columns != 0) continue;
    const bool across = !group_of.empty() && !rows_within_leaves(order, columns, group_of.front());
    const auto cost = std::tuple(columns + ranks / columns, across, ranks - columns);
    if (cost >= least) continue;
    least = cost;
    best.columns = columns;
    best.rows = ranks / columns;
  }
  if (best.rows == 0) return std::nullopt;
  best.at = order;
  const auto place =
      static_cast<std::uint32_t>(std::find(order.begin(), order.end(), self) - order.begin());
  best.row = place / best.columns;
  best.column = place % best.columns;
  return best;
}

bool grid_pays(const Grid& grid, std::uint64_t bytes, std::uint32_t packet_bytes) {
  constexpr double kWireGrowthMax = 1.5;
  const Traffic direct = traffic(grid.at.size() - 1, bytes, packet_bytes);
  const Traffic row = traffic(grid.columns - 1, bytes * grid.rows, packet_bytes);
  const Traffic column = traffic(grid.rows - 1, bytes * grid.columns, packet_bytes);
  return 2 * (row.packets + column.packets) <= direct.packets &&
         static_cast<double>(row.wire_bytes + column.wire_bytes) <=
             kWireGrowthMax * static_cast<double>(direct.wire_bytes);
}

}  // namespace alm::plan

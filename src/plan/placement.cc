#include "plan/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace alm::plan {
Placement Placement::of(std::span<const std::string_view> host_names) {
  Placement placement;
  std::map<std::string_view, std::uint32_t> known;
  for (std::uint32_t rank = 0; rank < host_names.size(); ++rank) {
    const auto [entry, is_new] = known.try_emplace(host_names[rank], placement.hosts());
    if (is_new) placement.ranks.emplace_back();
    auto& here = placement.ranks[entry->second];
    placement.host_of.push_back(entry->second);
    placement.local_rank.push_back(static_cast<std::uint32_t>(here.size()));
    here.push_back(rank);
  }
  std::uint32_t before = 0;
  for (const auto& here : placement.ranks) {
    placement.first.push_back(before);
    before += static_cast<std::uint32_t>(here.size());
  }
  return placement;
}

std::uint32_t Placement::most() const {
  std::size_t most = 0;
  for (const auto& here : ranks) most = std::max(most, here.size());
  return static_cast<std::uint32_t>(most);
}

std::uint32_t Placement::fewest() const {
  std::size_t fewest = host_of.size();
  for (const auto& here : ranks) fewest = std::min(fewest, here.size());
  return static_cast<std::uint32_t>(fewest);
}

bool Placement::equal() const { return fewest() == most(); }

std::string Placement::text() const {
  if (equal()) return fmt::format("{} hosts x {} ranks", hosts(), most());
  return fmt::format("{} hosts x {} to {} ranks", hosts(), fewest(), most());
}

}  // namespace alm::plan

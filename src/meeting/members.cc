#include "meeting/members.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>

namespace alm::meeting {

std::uint64_t Members::host_block(std::uint64_t bytes) const {
  const std::uint64_t pairs = std::uint64_t{placement.hosts()} * placement.hosts();
  return std::uint64_t{ranks} * ranks * bytes / pairs;
}

std::string Members::name_of(std::uint32_t rank) const {
  return fmt::format("rank {} on {}{}", rank, host_names[rank], at_site(placement.host_of[rank]));
}

std::vector<std::string> Members::rank_names() const {
  std::vector<std::string> names;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) names.push_back(name_of(rank));
  return names;
}

std::string Members::host_text(std::uint32_t of) const {
  constexpr std::size_t kShown = 4;
  const std::span<const std::uint32_t> here = placement.ranks[of];
  return fmt::format("{}{} (ranks {}{})", host_names[here.front()], at_site(of),
                     fmt::join(here.first(std::min(here.size(), kShown)), ", "),
                     here.size() > kShown ? ", ..." : "");
}

std::string Members::at_site(std::uint32_t of) const {
  return sites.empty() ? std::string() : fmt::format(" at {}", site_names[sites[of]]);
}

}  // namespace alm::meeting

// Inside the module: the ranks of each site, and what a phase within a site looks like.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "plan/plan.h"

namespace alm::plan {

struct SiteMembers {
  std::vector<std::uint32_t> of;               // [rank] its site
  std::vector<std::uint32_t> place;            // [rank] among those of its site
  std::vector<std::vector<base::Rank>> ranks;  // [site] ascending

  std::uint32_t count() const { return static_cast<std::uint32_t>(ranks.size()); }
  std::uint32_t size(std::uint32_t site) const {
    return static_cast<std::uint32_t>(ranks[site].size());
  }
  const std::vector<base::Rank>& home(base::Rank rank) const { return ranks[of[rank.value]]; }
};

// Errors (kBadInput): the request has no sites, or they are not numbered from 0 without gaps.
base::Result<SiteMembers> site_members(const Request& request);

// A phase within the site of `request.self`, without messages.
Phase near_phase(const Request& request, const SiteMembers& sites);
// The order in which self sends to and receives from the others of its site, as synchronous shuffle
// does within it.
base::Rounds near_order(const Request& request, const SiteMembers& sites);
// A phase between sites, without messages. All ranks are members, by number, so that all know each
// other by the same ones.
Phase far_phase(const Request& request);
// What a phase without part for self looks like.
void stand_aside(Phase& phase);

}  // namespace alm::plan

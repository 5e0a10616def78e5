// Inside the module: the ranks of each site, and what a phase within a site looks like.
#pragma once

#include <cstdint>
#include <functional>
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
// The rounds of self with the others of its site, in the order of a synchronous shuffle.
base::Rounds near_order(const Request& request, const SiteMembers& sites);
// A phase in which self exchanges one message with each of the others, in that order. `moves`: what
// one rank of the site sends another.
using MovesBetween = std::function<std::vector<Move>(base::Rank from, base::Rank to)>;
Phase exchange_near(const Request& request, const SiteMembers& sites, const MovesBetween& moves);
// A phase between sites, without messages. All ranks are members, numbered by rank, so that all use
// the same numbers.
Phase far_phase(const Request& request);
// Makes `phase` one in which self takes no part.
void stand_aside(Phase& phase);

}  // namespace alm::plan

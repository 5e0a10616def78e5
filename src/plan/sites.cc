#include "plan/sites.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "plan/rounds.h"

namespace alm::plan {

base::Result<SiteMembers> site_members(const Request& request) {
  if (request.site_of.size() != request.ranks) {
    return base::bad_input(
        fmt::format("`{}` needs to know the site of every host; expected `site` at the switches of "
                    "the cluster file",
                    name_of(request.algorithm)));
  }
  SiteMembers sites;
  sites.of = request.site_of;
  for (std::uint32_t rank = 0; rank < request.ranks; ++rank) {
    const std::uint32_t site = sites.of[rank];
    if (site >= request.ranks) {
      return base::bad_input(
          fmt::format("rank {} is at site {}; expected numbers from 0, without "
                      "gaps",
                      rank, site));
    }
    if (site >= sites.ranks.size()) sites.ranks.resize(site + 1);
    sites.place.push_back(sites.size(site));
    sites.ranks[site].push_back({rank});
  }
  for (std::uint32_t site = 0; site < sites.count(); ++site) {
    if (sites.size(site) > 0) continue;
    return base::bad_input(
        fmt::format("site {} of {} has no ranks; expected one at least", site, sites.count()));
  }
  return sites;
}

Phase near_phase(const Request& request, const SiteMembers& sites) {
  Phase phase;
  phase.reach = Reach::kNear;
  phase.members = sites.home(request.self);
  phase.self = sites.place[request.self.value];
  return phase;
}

base::Rounds near_order(const Request& request, const SiteMembers& sites) {
  const auto& home = sites.home(request.self);
  if (home.size() < 2) return {};
  Request within;
  within.ranks = static_cast<std::uint32_t>(home.size());
  within.self = {sites.place[request.self.value]};
  for (const auto& groups : request.leaf_of) {
    auto& level = within.leaf_of.emplace_back();
    std::transform(home.begin(), home.end(), std::back_inserter(level),
                   [&](base::Rank rank) { return groups[rank.value]; });
  }
  return make_plan(within).value().rounds();
}

Phase exchange_near(const Request& request, const SiteMembers& sites, const MovesBetween& moves) {
  Phase phase = near_phase(request, sites);
  const auto order = near_order(request, sites);
  for (const base::PeerId peer : order.send) {
    append_send(phase, peer, moves(request.self, phase.members[peer]));
  }
  for (const base::PeerId peer : order.recv) {
    append_receive(phase, peer, moves(phase.members[peer], request.self));
  }
  if (order.send.empty()) stand_aside(phase);
  return phase;
}

Phase far_phase(const Request& request) {
  Phase phase;
  phase.reach = Reach::kFar;
  phase.self = request.self.value;
  return phase;
}

void stand_aside(Phase& phase) {
  phase.out_begin = phase.in_begin = {0};
  phase.rounds.send_begin = phase.rounds.recv_begin = {0, 0};
}

}  // namespace alm::plan

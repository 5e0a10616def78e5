// Coordinators (MagPIe, PACX MPI; 003 section VI.A): one rank of each site, the lowest, sends all
// that the site has for another, in one message, and hands out what comes. As few messages as can
// be cross, but everything passes two ports more.
//   phase 1, local    every other rank the block for it; the coordinator all for other sites as
//   well phase 2, far      the coordinators exchange phase 3, local    each rank gets from its
//   coordinator what came for it
#include "plan/rounds.h"
#include "plan/sites.h"

namespace alm::plan {
namespace {

class Coordinators {
 public:
  Coordinators(const Request& request, const SiteMembers& sites)
      : request_(request),
        sites_(sites),
        self_(request.self),
        home_(sites.of[request.self.value]),
        leads_(coordinator(home_) == request.self) {}

  Phase collect() const {
    return exchange_near(request_, sites_,
                         [&](base::Rank from, base::Rank to) { return collected(from, to); });
  }

  Phase between_sites() const {
    std::vector<base::Rank> partners;
    for (std::uint32_t turn = 1; leads_ && turn < sites_.count(); ++turn) {
      partners.push_back(coordinator((home_ + turn) % sites_.count()));
    }
    Phase phase = far_phase(request_);
    for (const base::Rank partner : partners) {
      const std::uint32_t there = sites_.of[partner.value];
      append_send(phase, partner.value, crossing(home_, there));
      append_receive(phase, partner.value, crossing(there, home_));
    }
    if (partners.empty()) stand_aside(phase);
    return phase;
  }

  Phase hand_out() const {
    Phase phase = near_phase(request_, sites_);
    stand_aside(phase);
    if (sites_.count() < 2) return phase;
    for (base::PeerId peer = 1; leads_ && peer < phase.members.size(); ++peer) {
      append_send(phase, peer, handed_out(phase.members[peer]));
    }
    if (!leads_) append_receive(phase, 0, handed_out(self_));
    return phase;
  }

 private:
  base::Rank coordinator(std::uint32_t site) const { return sites_.ranks[site].front(); }

  std::vector<Move> collected(base::Rank from, base::Rank to) const {
    std::vector<Move> moves = {{from, to}};
    for (std::uint32_t site = 0; to == coordinator(home_) && site < sites_.count(); ++site) {
      if (site == home_) continue;
      for (const base::Rank there : sites_.ranks[site]) moves.push_back({from, there});
    }
    return moves;
  }

  std::vector<Move> crossing(std::uint32_t from, std::uint32_t to) const {
    std::vector<Move> moves;
    for (const base::Rank there : sites_.ranks[to]) {
      for (const base::Rank origin : sites_.ranks[from]) moves.push_back({origin, there});
    }
    return moves;
  }

  std::vector<Move> handed_out(base::Rank to) const {
    std::vector<Move> moves;
    for (std::uint32_t turn = 1; turn < sites_.count(); ++turn) {
      for (const base::Rank origin : sites_.ranks[(home_ + turn) % sites_.count()]) {
        moves.push_back({origin, to});
      }
    }
    return moves;
  }

  const Request& request_;
  const SiteMembers& sites_;
  base::Rank self_;
  std::uint32_t home_;
  bool leads_;
};

}  // namespace

base::Status plan_coordinator(const Request& request, Plan& plan) {
  const auto sites = site_members(request);
  if (!sites) return sites.error();
  const Coordinators coordinators(request, sites.value());
  plan.phases.push_back(coordinators.collect());
  plan.phases.push_back(coordinators.between_sites());
  plan.phases.push_back(coordinators.hand_out());
  return {};
}

}  // namespace alm::plan

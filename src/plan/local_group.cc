// Local group (003 Algorithm 1), between every two sites: blocks for another site are collected
// within the own one and cross in one message for each destination there, so that what is far is
// crossed once, by few and large messages. For two sites of n1 <= n2 ranks, n2 messages cross each
// way.
//
// Ranks of the smaller site are numbered i = 0 .. n1 - 1, those of the larger x = 0 .. n2 - 1 (n1 +
// x in the paper). In phase 1, local, a rank sends every other of its site the block for it, and
// with it all blocks that this one sends on:
//   i has the block for x sent on by x mod n1,
//   x has the block for i sent on by t, with t mod n1 = i:
//     balanced  t = n1 (x mod c) + i, with c = ceil((n2 - i) / n1), the number of such t
//     simple    t = n1 floor(x / n1) + i; less n1 if there is no such rank (the paper stops there)
// In phase 2, i exchanges with x = i + n1 (s - 1) in step s = 1 .. ceil(n2 / n1) all that either
// has for the other. The steps give the order of a rank's partners; packets to all of them
// alternate, so that the latency of the long route is waited for once and not in every step.
//
// The largest message between sites has n1 blocks one way; the other way ceil(n2 / floor(n2 / n1))
// (balanced, which nothing undercuts) or n1 + n2 mod n1 (simple).
#include <algorithm>

#include "plan/rounds.h"
#include "plan/sites.h"

namespace alm::plan {
namespace {

enum class Rule { kBalanced, kSimple };

class LocalGroup {
 public:
  LocalGroup(const Request& request, const SiteMembers& sites, Rule rule)
      : request_(request),
        sites_(sites),
        rule_(rule),
        self_(request.self),
        home_(sites.of[request.self.value]) {}

  Phase local() const {
    return exchange_near(request_, sites_,
                         [&](base::Rank from, base::Rank to) { return handed(from, to); });
  }

  Phase between_sites() const {
    const auto partners = in_steps();
    Phase phase = far_phase(request_);
    for (const base::Rank partner : partners) {
      append_send(phase, partner.value, crossing(self_, partner));
      append_receive(phase, partner.value, crossing(partner, self_));
    }
    if (partners.empty()) stand_aside(phase);
    return phase;
  }

 private:
  std::uint32_t place(base::Rank rank) const { return sites_.place[rank.value]; }
  // Equal sites: the one that is named first counts as the smaller.
  bool smaller(std::uint32_t site, std::uint32_t than) const {
    return std::pair(sites_.size(site), site) < std::pair(sites_.size(than), than);
  }

  // Who of the origin's site sends its block for `to`, which is at another site, on to that site.
  base::Rank sent_on_by(base::Rank origin, base::Rank to) const {
    const std::uint32_t from_site = sites_.of[origin.value];
    const std::uint32_t to_site = sites_.of[to.value];
    if (smaller(from_site, to_site)) {
      return sites_.ranks[from_site][place(to) % sites_.size(from_site)];
    }
    const std::uint32_t few = sites_.size(to_site);
    const std::uint32_t many = sites_.size(from_site);
    const std::uint32_t x = place(origin);
    std::uint32_t t = 0;
    if (rule_ == Rule::kBalanced) {
      const std::uint32_t c = (many - place(to) + few - 1) / few;
      t = few * (x % c) + place(to);
    } else {
      t = x / few * few + place(to);
      if (t >= many) t -= few;
    }
    return sites_.ranks[from_site][t];
  }

  // The message within a site: the receiver's own block, then what it sends on.
  std::vector<Move> handed(base::Rank from, base::Rank to) const {
    std::vector<Move> moves = {{from, to}};
    for (std::uint32_t site = 0; site < sites_.count(); ++site) {
      if (site == home_) continue;
      for (const base::Rank there : sites_.ranks[site]) {
        if (sent_on_by(from, there) == to) moves.push_back({from, there});
      }
    }
    return moves;
  }

  // The message between two ranks at different sites.
  std::vector<Move> crossing(base::Rank from, base::Rank to) const {
    std::vector<Move> moves;
    for (const base::Rank origin : sites_.ranks[sites_.of[from.value]]) {
      if (sent_on_by(origin, to) == from) moves.push_back({origin, to});
    }
    return moves;
  }

  // Self's partners at all other sites, those of step 1 first.
  std::vector<base::Rank> in_steps() const {
    struct Meeting {
      std::uint32_t step, turn;
      base::Rank partner;
    };
    std::vector<Meeting> meetings;
    for (std::uint32_t site = 0; site < sites_.count(); ++site) {
      if (site == home_) continue;
      const std::uint32_t turn = (site + sites_.count() - home_) % sites_.count();
      if (smaller(site, home_)) {
        const std::uint32_t few = sites_.size(site);
        meetings.push_back({place(self_) / few, turn, sites_.ranks[site][place(self_) % few]});
        continue;
      }
      const std::uint32_t few = sites_.size(home_);
      for (std::uint32_t x = place(self_); x < sites_.size(site); x += few) {
        meetings.push_back({x / few, turn, sites_.ranks[site][x]});
      }
    }
    std::sort(meetings.begin(), meetings.end(), [](const Meeting& a, const Meeting& b) {
      return std::pair(a.step, a.turn) < std::pair(b.step, b.turn);
    });
    std::vector<base::Rank> partners;
    for (const Meeting& meeting : meetings) partners.push_back(meeting.partner);
    return partners;
  }

  const Request& request_;
  const SiteMembers& sites_;
  Rule rule_;
  base::Rank self_;
  std::uint32_t home_;
};

base::Status make(const Request& request, Rule rule, Plan& plan) {
  const auto sites = site_members(request);
  if (!sites) return sites.error();
  const LocalGroup group(request, sites.value(), rule);
  plan.phases.push_back(group.local());
  plan.phases.push_back(group.between_sites());
  return {};
}

}  // namespace

base::Status plan_local_group(const Request& request, Plan& plan) {
  return make(request, Rule::kBalanced, plan);
}

base::Status plan_local_group_simple(const Request& request, Plan& plan) {
  return make(request, Rule::kSimple, plan);
}

}  // namespace alm::plan

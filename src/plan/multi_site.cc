// Multi-site, ours: every block goes straight to its destination, those to other sites from the
// first moment on and no faster than the wide-area links carry them (plan/far.h), those within the
// site in what the host's link has left. Nothing is forwarded, and the wide-area links never idle.
//
// The partners at other sites are dealt out so that what leaves a site at one moment goes to
// different receivers: rank number i of a site of a ranks begins with number floor(i b / a) of a
// site of b, and the sites take turns in proportion to their sizes.
//
// Small blocks, of which many fit a packet, cross together instead, as local group sends them.
#include "plan/multi_site.h"

#include <algorithm>

#include "plan/rounds.h"
#include "plan/sites.h"

namespace alm::plan {
namespace {

// Messages in rounds: one round of all.
void in_one_round(base::Rounds& rounds) {
  rounds.send_begin = {0, static_cast<std::uint32_t>(rounds.send.size())};
  rounds.recv_begin = {0, static_cast<std::uint32_t>(rounds.recv.size())};
}

std::vector<base::Rank> dealt_out(const SiteMembers& sites, base::Rank self) {
  struct Turn {
    std::uint64_t num, den;  // when, as a part of the exchange
    base::Rank partner;
  };
  const std::uint32_t home = sites.of[self.value];
  std::vector<Turn> turns;
  for (std::uint32_t after = 1; after < sites.count(); ++after) {
    const auto& there = sites.ranks[(home + after) % sites.count()];
    const std::uint64_t first =
        std::uint64_t{sites.place[self.value]} * there.size() / sites.size(home);
    for (std::uint64_t i = 0; i < there.size(); ++i) {
      turns.push_back({2 * i + 1, 2 * there.size(), there[(first + i) % there.size()]});
    }
  }
  std::stable_sort(turns.begin(), turns.end(),
                   [](const Turn& a, const Turn& b) { return a.num * b.den < b.num * a.den; });
  std::vector<base::Rank> partners;
  for (const Turn& turn : turns) partners.push_back(turn.partner);
  return partners;
}

}  // namespace

base::Status plan_multi_site(const Request& request, Plan& plan) {
  if (request.combined) return plan_local_group(request, plan);
  const auto sites = site_members(request);
  if (!sites) return sites.error();
  const auto partners = dealt_out(sites.value(), request.self);
  Phase far = far_phase(request);
  for (const base::Rank partner : partners) {
    far.rounds.send.push_back(partner.value);
    far.rounds.recv.push_back(partner.value);
  }
  in_one_round(far.rounds);
  Phase near = near_phase(request, sites.value());
  near.rounds = near_order(request, sites.value());
  if (near.rounds.send_begin.empty()) in_one_round(near.rounds);
  plan.phases.push_back(std::move(far));
  plan.phases.push_back(std::move(near));
  return {};
}

std::uint64_t combined_bytes_max(const Request& request, std::uint32_t packet_bytes) {
  const auto sites = site_members(request);
  if (!sites) return 0;
  std::uint32_t largest = 1;  // message between sites, in blocks
  for (std::uint32_t a = 0; a < sites.value().count(); ++a) {
    for (std::uint32_t b = a + 1; b < sites.value().count(); ++b) {
      const auto [few, many] = std::minmax({sites.value().size(a), sites.value().size(b)});
      const std::uint32_t senders = many / few;
      largest = std::max({largest, few, (many + senders - 1) / senders});
    }
  }
  return packet_bytes / largest;
}

}  // namespace alm::plan

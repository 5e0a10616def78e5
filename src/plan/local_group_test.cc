#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "plan/check.h"
#include "plan/plan.h"
#include "plan/plans_test_ranks.h"

namespace alm::plan {
namespace {

using base::Rank;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr Algorithm kRules[] = {Algorithm::kLocalGroup, Algorithm::kLocalGroupSimple};

// n1 ranks at one site, then n2 at another, as the paper numbers them.
Request request_of(Algorithm algorithm, std::uint32_t n1, std::uint32_t n2) {
  Request request;
  request.ranks = n1 + n2;
  request.algorithm = algorithm;
  request.site_of.assign(n1, 0);
  request.site_of.resize(n1 + n2, 1);
  return request;
}

struct Largest {
  std::size_t from_small = 0, from_large = 0;
};

Largest largest_between_sites(const std::vector<Plan>& plans, std::uint32_t n1) {
  Largest largest;
  Move direct;
  for (const Plan& plan : plans) {
    const Phase& far = plan.phases.back();
    std::size_t& most = plan.self.value < n1 ? largest.from_small : largest.from_large;
    for (std::size_t i = 0; i < far.rounds.send.size(); ++i) {
      most = std::max(most, far.sends(i, direct).size());
    }
  }
  return largest;
}

// All shapes of two sites up to 24 ranks each, 216 of which break the algorithm as printed.
TEST(LocalGroup, DeliversInAsManyMessagesAsItSaysForEveryShape) {
  for (std::uint32_t n2 = 1; n2 <= 24; ++n2) {
    for (std::uint32_t n1 = 1; n1 <= n2; ++n1) {
      for (const Algorithm rule : kRules) {
        const Request request = request_of(rule, n1, n2);
        const auto plans = plans_of(request);
        const Proof proof = prove(plans, {request.site_of});
        ASSERT_EQ(proof.wrong, "") << n1 << " + " << n2;
        ASSERT_EQ(proof.crossings.front(), (Crossings{2 * n2, std::uint64_t{2} * n1 * n2}));
        const Largest largest = largest_between_sites(plans, n1);
        ASSERT_EQ(largest.from_small, n1);
        const std::uint32_t least = n2 / n1;
        const std::uint32_t most =
            rule == Algorithm::kLocalGroup ? (n2 + least - 1) / least : n1 + n2 % n1;
        ASSERT_EQ(largest.from_large, most) << n1 << " + " << n2;
      }
    }
  }
}

// 003 Figure 7: sites of 3 and 7.
TEST(LocalGroup, FigureSevenOfThePaper) {
  const auto plans = plans_of(request_of(Algorithm::kLocalGroupSimple, 3, 7));
  const auto partners = [&](std::uint32_t rank) {
    std::vector<std::uint32_t> out;
    const Phase& far = plans[rank].phases[1];
    for (const base::PeerId peer : far.rounds.send) out.push_back(far.rank_of(peer).value);
    return out;
  };
  // Step 1: 0-3, 1-4, 2-5; step 2: 0-6, 1-7, 2-8; step 3: 0-9.
  EXPECT_THAT(partners(0), ElementsAre(3, 6, 9));
  EXPECT_THAT(partners(1), ElementsAre(4, 7));
  EXPECT_THAT(partners(2), ElementsAre(5, 8));
  EXPECT_THAT(partners(8), ElementsAre(2));
  EXPECT_THAT(partners(9), ElementsAre(0));
  // M 7,2 is stored at 8, which sends 2 the blocks of 6, 7 and 8, and that of 9 as well, whose own
  // place for it, 11, does not exist.
  const Phase& far = plans[8].phases[1];
  Move direct;
  EXPECT_THAT(far.sends(0, direct),
              ElementsAre(Move{{6}, {2}}, Move{{7}, {2}}, Move{{8}, {2}}, Move{{9}, {2}}));
}

TEST(LocalGroup, RanksMayStandInAnyOrderAndAtSeveralSites) {
  Request request;
  request.ranks = 11;
  request.site_of = {2, 0, 1, 0, 2, 2, 1, 0, 2, 1, 2};
  for (const Algorithm rule : kRules) {
    request.algorithm = rule;
    const Proof proof = prove(plans_of(request), {request.site_of});
    EXPECT_EQ(proof.wrong, "");
    // 3 + 3, 3 + 5 and 3 + 5 ranks.
    EXPECT_EQ(proof.crossings.front(), (Crossings{2 * (3 + 5 + 5), 2 * (9 + 15 + 15)}));
  }
}

TEST(LocalGroup, NeedsSites) {
  Request request = request_of(Algorithm::kLocalGroup, 3, 7);
  request.self = {0};
  EXPECT_EQ(make_plan(request).value().identity, "local-group");
  request.site_of.clear();
  EXPECT_THAT(make_plan(request).error().message,
              HasSubstr("`local-group` needs to know the site"));
  request.site_of.assign(10, 1);
  EXPECT_THAT(make_plan(request).error().message, HasSubstr("site 0 of 2 has no ranks"));
}

}  // namespace
}  // namespace alm::plan

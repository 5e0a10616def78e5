#include <gtest/gtest.h>

#include "plan/check.h"
#include "plan/plan.h"

namespace alm::plan {
namespace {

TEST(Coordinator, OneMessageCrossesForEachPairOfSites) {
  Request request;
  request.ranks = 12;
  request.algorithm = Algorithm::kCoordinator;
  request.site_of = {0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 1};
  std::vector<Plan> plans;
  for (std::uint32_t rank = 0; rank < request.ranks; ++rank) {
    request.self = {rank};
    plans.push_back(make_plan(request).value());
  }
  const Proof proof = prove(plans, {request.site_of});
  EXPECT_EQ(proof.wrong, "");
  EXPECT_EQ(proof.crossings.front(), (Crossings{6, 2 * (4 * 5 + 4 * 3 + 5 * 3)}));
  // The others only know their own site.
  EXPECT_TRUE(plans[3].phases[1].rounds.send.empty());
  EXPECT_EQ(plans[3].phases[2].rounds.recv.size(), 1u);
}

}  // namespace
}  // namespace alm::plan

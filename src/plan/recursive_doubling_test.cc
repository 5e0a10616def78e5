// check_test.cc proves that every block arrives; here is what is this algorithm's own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/combining.h"
#include "plan/plan.h"

namespace alm::plan {
namespace {

base::Result<Plan> doubling(std::uint32_t ranks) {
  return make_plan({.ranks = ranks, .self = {1}, .algorithm = Algorithm::kRecursiveDoubling});
}

TEST(RecursiveDoubling, HasOnePartnerInEachOfLog2Phases) {
  const Plan plan = doubling(16).value();
  ASSERT_EQ(plan.phases.size(), 4u);
  for (std::uint32_t phase = 0; phase < 4; ++phase) {
    EXPECT_THAT(plan.phases[phase].rounds.send, testing::ElementsAre(1u ^ (1u << phase)));
    EXPECT_EQ(plan.phases[phase].out.size(), 8u);
  }
  EXPECT_EQ(traffic_of(plan, 10, 1448).packets, 4u);
  EXPECT_EQ(plan.identity, "recursive-doubling");
}

TEST(RecursiveDoubling, OtherNumbersOfRanksAreRefused) {
  EXPECT_THAT(doubling(12).error().message, testing::HasSubstr("power of two, not 12 ranks"));
}

}  // namespace
}  // namespace alm::plan

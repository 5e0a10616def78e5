#include "scenario/flows.h"

#include <gmock/gmock.h>

#include "scenario/test_cluster.h"

namespace alm::scenario {
namespace {

using testing::HasSubstr;

TEST(Flows, TakeAtLeastTheTimeOfTheBusiestLink) {
  FlowOptions options;
  options.size = 1'000'000;
  const auto cluster = make_cluster(4);
  const auto found = simulate_flows(cluster, options);
  ASSERT_TRUE(found) << found.error().message;
  // Four hosts send as many blocks each over 200 Mbit/s as there are hosts below the other leaf.
  EXPECT_GT(found.value().seconds, 16 * 8e6 / 200e6);
  EXPECT_LT(found.value().seconds, 1.1 * 16 * 8e6 / 200e6);
  EXPECT_EQ(found.value().bottleneck, "leaf0 -> core");
}

TEST(Flows, FollowRoundsOfThePlan) {
  FlowOptions options;
  options.size = 100'000;
  options.algorithm = plan::parse_named("pairwise").value();
  options.rounds = "together";
  const auto found = simulate_flows(make_cluster(2), options);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_TRUE(found.value().together);
  EXPECT_EQ(found.value().flows, 4 * 3);
}

TEST(Flows, PlansThatCombineAreRefused) {
  FlowOptions options;
  options.size = 100;
  options.algorithm = plan::parse_named("grid").value();
  EXPECT_THAT(simulate_flows(make_cluster(4), options).error().message,
              HasSubstr("flow level does not follow `grid`"));
  options.algorithm = kSyncShuffle;
  options.size = 0;
  EXPECT_FALSE(simulate_flows(make_cluster(4), options));
}

}  // namespace
}  // namespace alm::scenario

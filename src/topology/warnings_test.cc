#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/cluster.h"

namespace alm::topology {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

TEST(Warnings, NoneWhereTheAssumptionsHold) {
  EXPECT_THAT(assumption_warnings(build_one_switch(16)), IsEmpty());
  EXPECT_THAT(assumption_warnings(build_tree(TreeSpec{.groups = {8, 8, 8, 8}})), IsEmpty());
}

TEST(Warnings, UplinkSlowerThanItsHosts) {
  const Cluster cluster = build_tree(TreeSpec{.groups = {8, 8, 4, 8}, .uplink_mbit_s = 500});
  EXPECT_THAT(assumption_warnings(cluster),
              ElementsAre(AllOf(StartsWith("leaf[0-1,3]: 8 hosts can send 800 Mbit/s"),
                                HasSubstr("500 Mbit/s above them"))));
}

TEST(Warnings, EitherDirectionAndTheSharedCap) {
  Cluster cluster = build_tree(TreeSpec{.groups = {4, 8}});
  cluster.links[12].rate_down_mbit_s = 399;
  cluster.links[13].bidirectional_cap_mbit_s = 824;
  EXPECT_THAT(assumption_warnings(cluster),
              ElementsAre(HasSubstr("the 399 Mbit/s above"), HasSubstr("the 412 Mbit/s above")));
}

TEST(Warnings, HigherLevels) {
  const TreeNode leaf{.node = {}, .hosts = 8, .uplink = {}, .children = {}};
  const TreeNode middle{.node = {}, .hosts = 0, .uplink = {}, .children = {leaf, leaf}};
  const Cluster cluster =
      build_tree(TreeNode{.node = {}, .hosts = 0, .uplink = {}, .children = {middle, middle}});
  EXPECT_THAT(assumption_warnings(cluster),
              ElementsAre(StartsWith("mid[0-1]: 16 hosts can send 1600 Mbit/s")));
}

TEST(Warnings, Backplane) {
  Cluster cluster = build_tree(TreeSpec{.groups = {8, 8}});
  cluster.switches[0].backplane_mbit_s = 1800;
  cluster.switches[1].backplane_mbit_s = 1700;
  EXPECT_THAT(assumption_warnings(cluster),
              ElementsAre(AllOf(StartsWith("leaf1: ports can take in 1800 Mbit/s"),
                                HasSubstr("backplane of 1700 Mbit/s"))));
}

TEST(Warnings, QueuesRatesAndLoops) {
  Cluster cluster = build_tree(TreeSpec{.groups = {2, 2}});
  cluster.links[0].queue_down_packets = 0;
  cluster.links[1].rate_up_mbit_s = cluster.links[1].rate_down_mbit_s = 10;
  cluster.links.push_back(cluster.links.back());
  EXPECT_THAT(assumption_warnings(cluster),
              ElementsAre(HasSubstr("from 10 to 100 Mbit/s"), HasSubstr("more than one path"),
                          StartsWith("leaf0: a port has no queue")));
}

}  // namespace
}  // namespace alm::topology

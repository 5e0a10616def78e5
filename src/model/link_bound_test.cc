#include "model/link_bound.h"

#include <gtest/gtest.h>

#include <vector>

namespace alm::model {
namespace {

std::vector<base::HostId> first(std::uint32_t count) {
  std::vector<base::HostId> hosts;
  for (std::uint32_t i = 0; i < count; ++i) hosts.push_back({i});
  return hosts;
}

std::vector<Message> everybody(std::uint32_t ranks) {
  std::vector<Message> out;
  for (std::uint32_t a = 0; a < ranks; ++a) {
    for (std::uint32_t b = 0; b < ranks; ++b) {
      if (a != b) out.push_back({a, b, 1});
    }
  }
  return out;
}

TEST(LinkBound, CompleteExchangeIsThatOfTheTopology) {
  const auto cluster = topology::build_tree(topology::TreeSpec{{4, 4}, 100, 200});
  const auto hosts = first(8);
  const LinkBound bound(cluster, hosts);
  EXPECT_DOUBLE_EQ(bound.seconds(everybody(8), 5000),
                   topology::alltoall_limit_seconds(cluster, hosts, 5000));
  EXPECT_DOUBLE_EQ(bound.complete_seconds(5000),
                   topology::alltoall_limit_seconds(cluster, hosts, 5000));
}

TEST(LinkBound, CountsTheBusiestLinkOfOneRound) {
  const auto cluster = topology::build_tree(topology::TreeSpec{{2, 2}, 100, 100});
  const LinkBound bound(cluster, first(4));
  // One packet of 1000 bytes is 1042 on the link: 83.36 us at 100 Mbit/s.
  EXPECT_NEAR(bound.seconds(std::vector<Message>{{0, 1, 1}}, 1000), 83.36e-6, 1e-12);
  EXPECT_NEAR(bound.seconds(std::vector<Message>{{0, 2, 1}, {1, 3, 1}}, 1000), 2 * 83.36e-6, 1e-12);
}

TEST(LinkBound, UplinksAloneLeaveHostsOut) {
  const auto cluster = topology::build_tree(topology::TreeSpec{{2, 2}, 100, 1000});
  const LinkBound bound(cluster, first(4));
  EXPECT_EQ(bound.uplink_seconds(std::vector<Message>{{0, 1, 1}}, 1000), 0);
  EXPECT_NEAR(bound.uplink_seconds(std::vector<Message>{{0, 2, 1}}, 1000), 8.336e-6, 1e-12);
}

// 1042 bytes over two links of 100 Mbit/s and two of 1000; cut-through switches never outrun the
// tail, so that the last link counts alone.
TEST(LinkBound, LatencyKnowsHowSwitchesForward) {
  auto cluster = topology::build_tree(topology::TreeSpec{{2, 2}, 100, 1000});
  EXPECT_NEAR(LinkBound(cluster, first(4)).latency_seconds(0, 2, 1000), 2 * 83.36e-6 + 2 * 8.336e-6,
              1e-12);
  EXPECT_NEAR(LinkBound(cluster, first(4)).sending_seconds(0, 1000), 83.36e-6, 1e-12);
  for (auto& node : cluster.switches) node.switching = topology::Switching::kCutThrough;
  EXPECT_NEAR(LinkBound(cluster, first(4)).latency_seconds(0, 1, 1000), 83.36e-6, 1e-12);
  EXPECT_NEAR(LinkBound(cluster, first(4)).latency_seconds(0, 2, 1000), 83.36e-6, 1e-12);
}

TEST(LinkBound, BothDirectionsShareACap) {
  auto cluster = topology::build_tree(topology::TreeSpec{{2, 2}, 100, 100});
  for (auto& link : cluster.links) {
    if (!cluster.is_host(link.from)) link.bidirectional_cap_mbit_s = 100;
  }
  const LinkBound bound(cluster, first(4));
  EXPECT_NEAR(bound.seconds(std::vector<Message>{{0, 2, 1}, {3, 1, 1}}, 1000), 2 * 83.36e-6, 1e-12);
}

TEST(LinkBound, CutsAroundSwitchesWhereThereAreSeveralPaths) {
  const auto cluster = topology::build_fat_tree(16).value();
  const LinkBound bound(cluster, first(16));
  EXPECT_DOUBLE_EQ(bound.seconds(everybody(16), 5000), bound.complete_seconds(5000));
}

}  // namespace
}  // namespace alm::model

// Expected figures are worked out by hand in the comments.
#include "topology/bound.h"

#include <gtest/gtest.h>

#include "topology/generate.h"

namespace alm::topology {
namespace {

constexpr double kMicro = 1e-6;

std::vector<base::HostId> all(const Cluster& cluster) {
  std::vector<base::HostId> hosts;
  for (std::uint32_t i = 0; i < cluster.host_count(); ++i) hosts.push_back({i});
  return hosts;
}

double bound(const Cluster& cluster, std::uint64_t bytes, Packing packing = Packing::kPerMessage) {
  return alltoall_bound_seconds(cluster, all(cluster), bytes, packing);
}

Cluster with(Cluster cluster, Switching switching, double latency_us) {
  for (Switch& node : cluster.switches) node.switching = switching;
  for (Link& link : cluster.links) link.latency_us = latency_us;
  return cluster;
}

constexpr double at_100(double bytes) { return bytes * 8 / 100e6; }

// 100 bytes are 142 on the link. Three leave a host; the last one goes on to another.
TEST(Bound, OneSwitchStoresTheLastFrame) {
  const Cluster cluster = build_tree(TreeSpec{.groups = {4}});
  EXPECT_DOUBLE_EQ(bound(with(cluster, Switching::kStoreAndForward, 0), 100), at_100(4 * 142));
  EXPECT_NEAR(bound(with(cluster, Switching::kStoreAndForward, 7), 100),
              at_100(4 * 142) + 14 * kMicro, 1e-15);
}

TEST(Bound, ACutThroughSwitchAddsLatencyAlone) {
  const Cluster cluster = build_tree(TreeSpec{.groups = {4}});
  EXPECT_NEAR(bound(with(cluster, Switching::kCutThrough, 7), 100), at_100(3 * 142) + 14 * kMicro,
              1e-15);
}

// The uplinks at 20 Mbit/s are the limit: four messages, a host link before and after them. Those
// of cut-through switches are ten times as fast as the uplink: its frames begin when their heads
// are there, and the receiver waits for nothing but their ends.
TEST(Bound, OfAnUplink) {
  const Cluster cluster = build_tree(TreeSpec{.groups = {2, 2}, .uplink_mbit_s = 20});
  const double bytes = 4 * 142 * 8 / 20e6;
  // Up the host link, over one uplink, down the other and the host link.
  EXPECT_NEAR(bound(with(cluster, Switching::kStoreAndForward, 3), 100),
              bytes + 142 * 8 / 20e6 + at_100(2 * 142) + 12 * kMicro, 1e-15);
  EXPECT_NEAR(bound(with(cluster, Switching::kCutThrough, 3), 100), bytes + 12 * kMicro, 1e-15);
}

// A frame that goes on to a slower link takes the difference after its end on the faster one: the
// last of three messages on a host link of 100 Mbit/s, towards one of 50.
TEST(Bound, CutThroughToASlowerLink) {
  Cluster cluster = with(build_tree(TreeSpec{.groups = {4}}), Switching::kCutThrough, 0);
  for (std::uint32_t host : {1u, 2u, 3u}) cluster.links[host].rate_down_mbit_s = 50;
  const std::vector<std::uint64_t> traffic{0, 100, 100, 100, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  EXPECT_NEAR(traffic_bound_seconds(cluster, all(cluster), traffic), at_100(3 * 142) + at_100(142),
              1e-15);
}

// 1,500 bytes are a full packet and a short one, of 28 bytes where a packet holds 1,472. Of
// protocols with headers of their own, up to 64 bytes, no other is left with less.
TEST(Bound, TheShortestPacketIsTheLast) {
  const Cluster cluster = build_tree(TreeSpec{.groups = {2}});
  EXPECT_DOUBLE_EQ(bound(cluster, 1500), at_100(1500 + 2 * 42 + 28 + 42));
  // With 1,471 a packet a byte is left.
  EXPECT_DOUBLE_EQ(bound(cluster, 1472), at_100(1472 + 42 + 1 + 42));
  EXPECT_DOUBLE_EQ(bound(cluster, 1408), at_100(2 * (1408 + 42)));
}

// Where messages share packets, bytes count as in full ones, and a packet may hold a single byte.
TEST(Bound, SharedPackets) {
  const Cluster cluster = build_tree(TreeSpec{.groups = {4}});
  EXPECT_DOUBLE_EQ(bound(cluster, 8, Packing::kShared), at_100(3 * 8 * 1514.0 / 1472 + 43));
}

TEST(Bound, NothingIsBoundedByNothing) {
  const Cluster cluster = build_tree(TreeSpec{.groups = {4}});
  EXPECT_EQ(bound(cluster, 0), 0);
  EXPECT_EQ(alltoall_bound_seconds(cluster, std::vector<base::HostId>{{2}}, 100), 0);
  EXPECT_EQ(traffic_bound_seconds(cluster, all(cluster), std::vector<std::uint64_t>(16, 0)), 0);
}

// Only whoever sends or receives counts: from a leaf to another there is no short route.
TEST(Bound, OfOneMessageIsItsTime) {
  const Cluster cluster = with(build_tree(TreeSpec{.groups = {2, 2}, .uplink_mbit_s = 20}),
                               Switching::kStoreAndForward, 3);
  std::vector<std::uint64_t> traffic(16, 0);
  traffic[0 * 4 + 3] = 100;
  EXPECT_NEAR(traffic_bound_seconds(cluster, all(cluster), traffic),
              at_100(2 * 142) + 2 * 142 * 8 / 20e6 + 12 * kMicro, 1e-15);
}

TEST(Bound, EqualTrafficIsAnAllToAll) {
  for (const char* name : {"fat-tree:16", "torus:3x3", "myrinet:4", "dragonfly:2x4x2"}) {
    const auto cluster = generate(name);
    ASSERT_TRUE(cluster.ok()) << name << ": " << cluster.error().message;
    const auto hosts = all(cluster.value());
    const std::vector<std::uint64_t> equal(hosts.size() * hosts.size(), 700);
    const double of_all = bound(cluster.value(), 700);
    EXPECT_NEAR(traffic_bound_seconds(cluster.value(), hosts, equal), of_all, 1e-9 * of_all);
    EXPECT_GT(of_all, alltoall_limit_seconds(cluster.value(), hosts, 700)) << name;
  }
}

}  // namespace
}  // namespace alm::topology

// Expected figures are worked out by hand in the comments.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/cluster.h"

namespace alm::topology {
namespace {

std::vector<base::HostId> all(const Cluster& cluster) {
  std::vector<base::HostId> hosts;
  for (std::uint32_t i = 0; i < cluster.host_count(); ++i) hosts.push_back({i});
  return hosts;
}

double limit(const Cluster& cluster, std::uint64_t bytes) {
  return alltoall_limit_seconds(cluster, all(cluster), bytes);
}

Cluster ready_made(const std::string& name) {
  auto cluster = load_cluster(std::string(ALM_SOURCE_DIR) + "/clusters/" + name + ".toml");
  EXPECT_TRUE(cluster.ok()) << (cluster ? "" : cluster.error().message);
  return cluster ? std::move(cluster).value() : Cluster{};
}

TEST(Limits, FramingCountsTheShortLastPacket) {
  const Framing ethernet;
  EXPECT_EQ(framed_bytes(ethernet, 0), 0u);
  EXPECT_EQ(framed_bytes(ethernet, 1), 43u);
  EXPECT_EQ(framed_bytes(ethernet, 1472), 1514u);
  EXPECT_EQ(framed_bytes(ethernet, 1473), 1473u + 2 * 42);
  EXPECT_EQ(framed_bytes(ethernet, 200'000), 200'000u + 136 * 42);
  EXPECT_EQ(framed_bytes({.mtu_bytes = 9000, .link_header_bytes = 18}, 200'000),
            200'000u + 23 * 46);
}

// Host link: 31 messages at 10 Mbit/s; 200 KB in 136 packets of 42 bytes of headers each.
TEST(Limits, EightByFour) {
  const Cluster cluster = scaled(ready_made("tam-8x4"), 0.1);
  EXPECT_DOUBLE_EQ(limit(cluster, 200'000), 31 * (200'000 + 136 * 42) * 8 / 10e6);  // 5.10
  EXPECT_NEAR(limit(cluster, 200'000), 5.10, 0.005);
  EXPECT_NEAR(limit(cluster, 50'000), 1.28, 0.005);
  EXPECT_NEAR(limit(cluster, 10'000), 0.255, 0.0005);
  EXPECT_NEAR(limit(cluster, 1'000), 0.026, 0.0005);
  EXPECT_NEAR(limit(cluster, 100), 0.0035, 0.00005);
  const auto levels = alltoall_limits(cluster, all(cluster), 100);
  ASSERT_EQ(levels.size(), 4u);
  EXPECT_EQ(levels[0].level, "host link up");
  EXPECT_EQ(levels[0].busiest, "h0 -> leaf0");
  EXPECT_EQ(levels[1].level, "host link down");
  EXPECT_EQ(levels[1].busiest, "leaf0 -> h0");
  EXPECT_EQ(levels[2].level, "leaf uplink up");
  EXPECT_EQ(levels[2].busiest, "leaf0 -> core");
  EXPECT_EQ(levels[2].bytes, 8 * 24 * 142);
  EXPECT_EQ(levels[3].busiest, "core -> leaf0");
}

// Uplink: 8 * 24 messages at 50 Mbit/s.
TEST(Limits, Oversubscribed) {
  const Cluster cluster = scaled(ready_made("oversubscribed-8x4"), 0.1);
  EXPECT_DOUBLE_EQ(limit(cluster, 50'000), 192.0 * (50'000 + 34 * 42) * 8 / 50e6);
  EXPECT_DOUBLE_EQ(limit(cluster, 200'000), 192.0 * (200'000 + 136 * 42) * 8 / 50e6);
}

// Payload and frame rates differ by the headers; the published bounds (reference section 6) have
// none. With 412 Mbit/s the bound on a host is (p-1)m / T.
TEST(Limits, UplinksAt412GiveThePublishedBounds) {
  for (const auto& [name, mb_s] : {std::pair{"tam-8x2-u412", 12.07},
                                   {"tam-8x3-u412", 9.25},
                                   {"tam-6x4-u412", 10.96},
                                   {"tam-8x4-u412", 8.32}}) {
    const Cluster cluster = ready_made(name);
    const std::uint64_t bytes = 1472 * 100;
    const double framed = static_cast<double>(framed_bytes(cluster.framing, bytes));
    const double bound = (cluster.host_count() - 1) * framed / limit(cluster, bytes) / 1e6;
    EXPECT_NEAR(bound, mb_s, 0.01) << name;
  }
}

// 000 Eq 7 itself: both directions of an uplink share 824 Mbit/s.
TEST(Limits, CapOnBothDirections) {
  Cluster cluster = ready_made("tam-8x4");
  for (Link& link : cluster.links) {
    if (!cluster.is_host(link.from)) link.bidirectional_cap_mbit_s = 824;
  }
  EXPECT_DOUBLE_EQ(limit(cluster, 1472), limit(ready_made("tam-8x4-u412"), 1472));
}

TEST(Limits, AsymmetricRatesAndSubsets) {
  Cluster cluster = build_tree(TreeSpec{.groups = {4, 2}});
  cluster.links[5].rate_down_mbit_s = 1;  // leaf1 -> h5
  EXPECT_DOUBLE_EQ(limit(cluster, 1472), 5 * 1514 * 8 / 1e6);
  const std::vector<base::HostId> one_leaf{{0}, {1}, {2}};
  EXPECT_DOUBLE_EQ(alltoall_limit_seconds(cluster, one_leaf, 1472), 2 * 1514 * 8 / 100e6);
  const std::vector<base::HostId> nobody;
  EXPECT_EQ(alltoall_limit_seconds(cluster, nobody, 1472), 0);
  EXPECT_EQ(limit(cluster, 0), 0);
}

// Two middles of 2 leaves of 2 hosts: 4 * 4 messages cross each upper link, 2 * 6 each leaf's.
TEST(Limits, ThreeLevels) {
  const TreeNode leaf{.node = {}, .hosts = 2, .uplink = {}, .children = {}};
  const TreeNode middle{
      .node = {}, .hosts = 0, .uplink = {.rate_up_mbit_s = 10}, .children = {leaf, leaf}};
  const Cluster cluster =
      build_tree(TreeNode{.node = {}, .hosts = 0, .uplink = {}, .children = {middle, middle}});
  const auto levels = alltoall_limits(cluster, all(cluster), 1472);
  ASSERT_EQ(levels.size(), 6u);
  EXPECT_EQ(levels[4].level, "level 2 uplink up");
  EXPECT_DOUBLE_EQ(levels[4].seconds, 16 * 1514 * 8 / 10e6);
  EXPECT_DOUBLE_EQ(levels[2].seconds, 12 * 1514 * 8 / 1000e6);
}

// Two leaves of two hosts, two links of 100 Mbit/s between them: 4 messages over 200 Mbit/s.
TEST(Limits, ParallelTrunksCountTogether) {
  auto cluster = parse_cluster(R"(format = 1
name = "trunks"
switch = [{ name = "s[0-1]" }]
host = [{ name = "h[0-3]" }]
link = [{ from = "h[0-3]", to = "s0,s0,s1,s1", rate_mbit_s = 1000 },
        { from = "s0", to = "s1", rate_mbit_s = 100 },
        { from = "s0", to = "s1", rate_mbit_s = 100 }])",
                               "trunks");
  ASSERT_TRUE(cluster.ok()) << cluster.error().message;
  EXPECT_DOUBLE_EQ(limit(cluster.value(), 1472), 4 * 1514 * 8 / 200e6);
}

TEST(Limits, SixteenThousandHosts) {
  const Cluster cluster = build_tree(TreeSpec{.groups = std::vector<std::uint32_t>(512, 32)});
  EXPECT_DOUBLE_EQ(limit(cluster, 1472), 32.0 * (16384 - 32) * 1514 * 8 / 1000e6);
}

}  // namespace
}  // namespace alm::topology

// Expected figures are worked out by hand in the comments.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/cluster.h"
#include "topology/generate.h"

namespace alm::topology {
namespace {

std::vector<base::HostId> every_host(const Cluster& cluster) {
  std::vector<base::HostId> hosts;
  for (std::uint32_t i = 0; i < cluster.host_count(); ++i) hosts.push_back({i});
  return hosts;
}

double limit(const Cluster& cluster, std::uint64_t bytes) {
  return alltoall_limit_seconds(cluster, every_host(cluster), bytes);
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
  const auto levels = alltoall_limits(cluster, every_host(cluster), 100);
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

// Bruck's phases and grids put blocks of several pairs into one packet; 12.3 ms were taken for the
// links' limit of 8 bytes on 32 hosts at 1 Mbit/s, where combining needs 2 ms.
TEST(Limits, SharedPackets) {
  const Cluster cluster = scaled(ready_made("tam-8x4"), 0.01);
  const double payload = 31 * 8 * 8 / 1e6;
  const auto shared = [&](std::uint64_t bytes) {
    return alltoall_limit_seconds(cluster, every_host(cluster), bytes, Packing::kShared);
  };
  EXPECT_DOUBLE_EQ(shared(8), payload * 1514 / 1472);
  EXPECT_DOUBLE_EQ(limit(cluster, 8), payload * 50 / 8);
  EXPECT_DOUBLE_EQ(shared(1472), limit(cluster, 1472)) << "all packets are full";
  const std::vector<std::uint64_t> equal(32 * 32, 8);
  EXPECT_DOUBLE_EQ(traffic_limit_seconds(cluster, every_host(cluster), equal, Packing::kShared),
                   shared(8));
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
  const auto levels = alltoall_limits(cluster, every_host(cluster), 1472);
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

std::vector<std::uint64_t> equal(std::size_t ranks, std::uint64_t bytes) {
  return std::vector<std::uint64_t>(ranks * ranks, bytes);
}

TEST(Limits, EqualTrafficIsTheAllToAll) {
  for (const char* name : {"tam-8x4", "oversubscribed-8x4", "tam-16x1", "tam-6x4-u412"}) {
    const Cluster cluster = ready_made(name);
    const auto hosts = every_host(cluster);
    const auto levels = alltoall_limits(cluster, hosts, 10'000);
    const auto same = traffic_limits(cluster, hosts, equal(hosts.size(), 10'000));
    ASSERT_EQ(levels.size(), same.size()) << name;
    for (std::size_t i = 0; i < levels.size(); ++i) {
      EXPECT_EQ(levels[i].level, same[i].level);
      EXPECT_DOUBLE_EQ(levels[i].bytes, same[i].bytes) << name << " " << levels[i].level;
      EXPECT_DOUBLE_EQ(levels[i].seconds, same[i].seconds) << name << " " << levels[i].level;
    }
  }
}

// Six switches in a ring, a host on each: half of them send 3 x 3 messages over two links to the
// others, more than the 5 that any one of them sends over its two.
TEST(Limits, RingsAreCutIntoHalves) {
  const Cluster ring = build_torus(std::vector<std::uint32_t>{6}, 1, {.rate_mbit_s = 100});
  EXPECT_DOUBLE_EQ(limit(ring, 1472), 5 * 1514 * 8 / 100e6);  // of a host's link
  const Cluster doubled = build_torus(std::vector<std::uint32_t>{6}, 2, {.rate_mbit_s = 100});
  const auto levels = alltoall_limits(doubled, every_host(doubled), 1472);
  ASSERT_EQ(levels.size(), 4u);
  EXPECT_DOUBLE_EQ(levels[2].bytes, 36 * 1514);
  EXPECT_DOUBLE_EQ(levels[2].rate_mbit_s, 200);
  EXPECT_EQ(levels[2].busiest, "s[0-1,5] -> *");
  const auto same = traffic_limits(doubled, every_host(doubled), equal(12, 1472));
  for (std::size_t i = 0; i < 4; ++i) EXPECT_DOUBLE_EQ(same[i].seconds, levels[i].seconds);
}

// Leaf 0 has hosts 0 and 1, leaf 1 has 2 and 3. In packets of 1472: row, column and what crosses.
//   0 -> 1: 5, 0 -> 2: 1, 3 -> 2: 4, 2 -> 0: 2, 3 -> 1: 1; 1 sends nothing.
TEST(Limits, TrafficCountsRowsColumnsAndCuts) {
  const Cluster cluster = build_tree(TreeSpec{.groups = {2, 2}});
  const auto hosts = every_host(cluster);
  std::vector<std::uint64_t> bytes(16, 0);
  bytes[0 * 4 + 1] = 5 * 1472;
  bytes[0 * 4 + 2] = 1 * 1472;
  bytes[3 * 4 + 2] = 4 * 1472;
  bytes[2 * 4 + 0] = 2 * 1472;
  bytes[3 * 4 + 1] = 1 * 1472;
  bytes[1 * 4 + 1] = 1'000'000'000;  // to itself: crosses nothing
  const auto levels = traffic_limits(cluster, hosts, bytes);
  ASSERT_EQ(levels.size(), 4u);
  EXPECT_EQ(levels[0].bytes, 6 * 1514);  // host 0 sends 5 + 1
  EXPECT_EQ(levels[0].busiest, cluster.hosts[0].name + " -> leaf0");
  EXPECT_EQ(levels[1].bytes, 6 * 1514);  // host 1 receives 5 + 1
  EXPECT_EQ(levels[1].busiest, "leaf0 -> " + cluster.hosts[1].name);
  EXPECT_EQ(levels[2].bytes, 3 * 1514);  // leaf 1 sends 2 + 1
  EXPECT_EQ(levels[3].bytes, 3 * 1514);
  EXPECT_DOUBLE_EQ(traffic_limit_seconds(cluster, hosts, bytes), 6 * 1514 * 8 / 100e6);
}

// Two ranks on each of three hosts: a host sends 2 x 2 blocks to each other host, as one message.
TEST(Limits, RanksOfOneHostShareItsLink) {
  const Cluster cluster = build_tree(TreeSpec{.groups = {3}});
  const std::vector<base::HostId> block{{0}, {0}, {1}, {1}, {2}, {2}};
  const double host_to_host = 4 * 100 + 42;
  EXPECT_DOUBLE_EQ(traffic_limit_seconds(cluster, block, equal(6, 100)),
                   2 * host_to_host * 8 / 100e6);
  const std::vector<base::HostId> uneven{{0}, {0}, {0}, {1}};  // 3 blocks each way
  EXPECT_DOUBLE_EQ(traffic_limit_seconds(cluster, uneven, equal(4, 100)), 342 * 8 / 100e6);
}

TEST(Limits, SixteenThousandHosts) {
  const Cluster cluster = build_tree(TreeSpec{.groups = std::vector<std::uint32_t>(512, 32)});
  EXPECT_DOUBLE_EQ(limit(cluster, 1472), 32.0 * (16384 - 32) * 1514 * 8 / 1000e6);
}

}  // namespace
}  // namespace alm::topology

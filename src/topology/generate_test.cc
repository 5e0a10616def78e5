#include "topology/generate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "topology/graph.h"

namespace alm::topology {
namespace {

using ::testing::HasSubstr;

Cluster must(std::string_view name) {
  auto made = generate(name);
  EXPECT_TRUE(made.ok()) << name << ": " << (made ? "" : made.error().message);
  return made ? std::move(made).value() : Cluster{};
}

std::uint32_t degree(const Cluster& cluster, std::uint32_t switch_index) {
  return static_cast<std::uint32_t>(Adjacency(cluster)[cluster.host_count() + switch_index].size());
}

TEST(Generate, EveryNetworkReadsBackFromItsFile) {
  for (const std::string_view name :
       {"fat-tree:16", "lossless-fat-tree:16", "leaf-spine:4x4x4", "lossless-leaf-spine:2x3x1",
        "torus:4", "torus:2x2", "torus:3x4x2,hosts=2", "dragonfly:2x4x2", "shuffle-exchange:8",
        "ib-144", "myrinet:1", "myrinet:doubled", "myrinet:18",
        "leaf-spine:4x4x4,rate_mbit_s=100,queue_packets=45,latency_us=1.5"}) {
    EXPECT_TRUE(is_generated(name)) << name;
    const Cluster cluster = must(name);
    const auto again = parse_cluster(to_toml(cluster), name);
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_EQ(to_toml(again.value()), to_toml(cluster));
  }
}

TEST(Generate, WhatIsNoNameOfANetworkIsRefused) {
  for (const auto& [name, part] : std::vector<std::pair<std::string_view, std::string_view>>{
           {"ring:4", "expected fat-tree:HOSTS"},
           {"fat-tree", "for example fat-tree:128"},
           {"fat-tree:1", "too small"},
           {"fat-tree:130", "the nearest are 128"},
           {"fat-tree:-4", "no sizes of it"},
           {"leaf-spine:4x4", "expected leaf-spine:HOSTSxLEAVESxSPINES"},
           {"leaf-spine:4x4x0", "no sizes"},
           {"leaf-spine:4x4x4,rate=3", "`rate=3` cannot be read; expected rate_mbit_s=RATE"},
           {"leaf-spine:4x4x4,hosts=3", "cannot be read"},
           {"torus:4x", "no sizes"},
           {"torus:1024x1024", "more than 65536 hosts"},
           {"dragonfly:100x100x100", "more than 65536 hosts"},
           {"dragonfly:65536x65536x65536", "more than"},
           {"shuffle-exchange:12", "no power of two"},
           {"myrinet:3", "1, 2, 4, 5, 6 or 9"},
           {"lossless-ib-144", "no network is called"}}) {
    const auto made = generate(name);
    ASSERT_FALSE(made.ok()) << name;
    EXPECT_EQ(made.error().code, base::ErrorCode::kBadInput);
    EXPECT_THAT(made.error().message, HasSubstr(part));
  }
}

TEST(Generate, LeafSpineHasALinkFromEveryLeafToEverySpine) {
  const Cluster cluster = must("leaf-spine:4x3x2");
  EXPECT_EQ(cluster.host_count(), 12u);
  EXPECT_EQ(cluster.links.size(), 12u + 3 * 2);
  EXPECT_EQ(degree(cluster, 0), 4u + 2);
  EXPECT_EQ(degree(cluster, 3), 3u);
}

// A point has two neighbours along each side of three and more, one along a side of two.
TEST(Generate, ToriCloseAllAround) {
  const Cluster cluster = must("torus:4x3x2");
  EXPECT_EQ(cluster.host_count(), 24u);
  for (std::uint32_t i = 0; i < 24; ++i) EXPECT_EQ(degree(cluster, i), 1u + 2 + 2 + 1);
  EXPECT_EQ(cluster.links.size(), 24u + 24 + 24 + 12);
}

// Kim et al. 2008: groups a h + 1, every two joined by one link, h global links at each router.
TEST(Generate, DragonflyGroupsAreJoinedOnce) {
  const Cluster cluster = must("dragonfly:2x4x2");
  const std::uint32_t groups = 9, routers = 4;
  EXPECT_EQ(cluster.host_count(), groups * routers * 2);
  std::set<std::pair<std::uint32_t, std::uint32_t>> joined;
  for (const Link& link : cluster.links) {
    if (cluster.is_host(link.from)) continue;
    const std::uint32_t a = (link.from.value - cluster.host_count()) / routers;
    const std::uint32_t b = (link.to.value - cluster.host_count()) / routers;
    if (a == b) continue;
    EXPECT_TRUE(joined.insert(std::minmax(a, b)).second) << a << " " << b;
  }
  EXPECT_EQ(joined.size(), groups * (groups - 1) / 2);
  for (std::uint32_t i = 0; i < groups * routers; ++i) {
    EXPECT_EQ(degree(cluster, i), 2u + (routers - 1) + 2);
  }
}

// 001 Figure 3: switch i leads to 2i and 2i + 1 of the next stage, modulo its size.
TEST(Generate, ShuffleExchangeStagesAreShuffled) {
  const Cluster cluster = must("shuffle-exchange:8");
  EXPECT_EQ(cluster.switches.size(), 8u + 3 * 4);
  std::set<std::string> after;
  for (const Link& link : cluster.links) {
    EXPECT_EQ(link.one_way, !cluster.is_host(link.from));
    if (cluster.node_name(link.from) == "s0x3") after.insert(cluster.node_name(link.to));
  }
  EXPECT_EQ(after, (std::set<std::string>{"s1x2", "s1x3"}));
}

// 001 Table 1 and Figure 10. Section 6 prints 22,200 dollars at 1, 360 more at 4, 3,440 more at 9;
// the others follow from the list and the wiring.
TEST(Generate, MyrinetsCostAndCutWhatThePaperSays) {
  const std::vector<std::pair<std::uint32_t, double>> table{{1, 22'200}, {2, 22'320}, {4, 22'560},
                                                            {5, 24'920}, {6, 25'280}, {9, 25'640}};
  for (const auto& [links, dollars] : table) {
    const Cluster cluster = must("myrinet:" + std::to_string(links));
    EXPECT_EQ(cluster.host_count(), 16u);
    EXPECT_EQ(bisection(cluster).value().links, links);
    EXPECT_EQ(bisection(cluster).value().mbit_s, links * 1280.0);
    ASSERT_TRUE(cost(cluster));
    EXPECT_EQ(cost(cluster)->total(), dollars);
    for (std::uint32_t i = 0; i < cluster.switches.size(); ++i) EXPECT_LE(degree(cluster, i), 8u);
  }
}

// 001 Figure 2: two boxes with eight links between switches, three boxes with every port in use.
TEST(Generate, TheDesignsOfFigure2UseAllPorts) {
  const Cluster doubled = must("myrinet:doubled"), three = must("myrinet:18");
  EXPECT_EQ(doubled.links.size(), 16u + 8);
  EXPECT_EQ(bisection(doubled).value().links, 4u);
  EXPECT_EQ(three.host_count(), 18u);
  for (const Cluster& cluster : {doubled, three}) {
    for (std::uint32_t i = 0; i < cluster.switches.size(); ++i) EXPECT_EQ(degree(cluster, i), 8u);
  }
}

}  // namespace
}  // namespace alm::topology

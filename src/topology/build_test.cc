#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/cluster.h"

namespace alm::topology {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> names_of(const std::vector<Switch>& switches) {
  std::vector<std::string> names;
  for (const Switch& node : switches) names.push_back(node.name);
  return names;
}

TEST(Build, EqualGroupsGiveTheReadyMadeShape) {
  const Cluster cluster = build_tree(TreeSpec{.groups = {8, 8, 8, 8}});
  auto file = load_cluster(std::string(ALM_SOURCE_DIR) + "/clusters/tam-8x4.toml");
  ASSERT_TRUE(file.ok());
  ASSERT_EQ(cluster.links.size(), file.value().links.size());
  for (std::size_t i = 0; i < cluster.links.size(); ++i) {
    const Link &built = cluster.links[i], &read = file.value().links[i];
    EXPECT_EQ(built.from, read.from);
    EXPECT_EQ(built.to, read.to);
    EXPECT_EQ(built.rate_up_mbit_s, read.rate_up_mbit_s);
    EXPECT_EQ(built.queue_up_packets, read.queue_up_packets);
    EXPECT_EQ(built.queue_down_packets, read.queue_down_packets);
  }
  EXPECT_THAT(names_of(cluster.switches), ElementsAre("leaf0", "leaf1", "leaf2", "leaf3", "core"));
}

TEST(Build, OneSwitch) {
  const Cluster cluster = build_one_switch(16);
  EXPECT_EQ(cluster.host_count(), 16u);
  EXPECT_EQ(cluster.switches.size(), 1u);
  EXPECT_EQ(cluster.links.size(), 16u);
  EXPECT_TRUE(parse_cluster(to_toml(cluster), "one").ok());
}

TEST(Build, AnyDepthWithUnequalGroupsReadsBack) {
  TreeNode leaf_of_2{.node = {}, .hosts = 2, .uplink = {}, .children = {}};
  TreeNode leaf_of_3{
      .node = {.name = "far"}, .hosts = 3, .uplink = {.rate_up_mbit_s = 500}, .children = {}};
  TreeNode middle{.node = {}, .hosts = 1, .uplink = {}, .children = {leaf_of_2, leaf_of_2}};
  TreeNode root{.node = {}, .hosts = 1, .uplink = {}, .children = {middle, leaf_of_3}};
  const Cluster cluster = build_tree(root);
  EXPECT_EQ(cluster.host_count(), 9u);
  EXPECT_THAT(names_of(cluster.switches), ElementsAre("leaf0", "leaf1", "mid0", "far", "core"));
  auto again = parse_cluster(to_toml(cluster), "tree");
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(to_toml(again.value()), to_toml(cluster));
}

TEST(FatTree, CarriesAllHostsAtOnce) {
  for (const std::uint32_t hosts : {16u, 128u, 1024u}) {
    const auto made = build_fat_tree(hosts);
    ASSERT_TRUE(made.ok());
    const Cluster& cluster = made.value();
    EXPECT_EQ(cluster.host_count(), hosts);
    // As many links between levels as hosts below: nothing is the limit but the hosts' own links.
    EXPECT_EQ(cluster.links.size(), 3 * hosts);
    const auto read = parse_cluster(to_toml(cluster), "written");
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(read.value().links.size(), cluster.links.size());
  }
}

TEST(FatTree, NamesTheNearestSizes) {
  const auto made = build_fat_tree(130);
  ASSERT_FALSE(made.ok());
  EXPECT_NE(made.error().message.find("the nearest are 128 and 144"), std::string::npos)
      << made.error().message;
}

TEST(FatTree, LosslessOnesAreMadeOfCrossbars) {
  const Cluster cluster = build_fat_tree(16, {.lossless = true}).value();
  EXPECT_EQ(cluster.name, "lossless-fat-tree-16");
  for (const Switch& node : cluster.switches) {
    EXPECT_EQ(node.architecture, Architecture::kInput);
    EXPECT_EQ(node.switching, Switching::kCutThrough);
    EXPECT_EQ(node.flow_control, FlowControl::kBackPressure);
  }
}

TEST(TwoLevel, SwitchOf144PortsIsMadeOf24Crossbars) {
  const Cluster cluster = build_ib_144();
  EXPECT_EQ(cluster.host_count(), 144u);
  ASSERT_EQ(cluster.switches.size(), 24u);
  std::vector<std::uint32_t> ports(24);
  for (const Link& link : cluster.links) {
    for (const NodeId end : {link.from, link.to}) {
      if (!cluster.is_host(end)) ++ports[end.value - 144];
    }
  }
  EXPECT_EQ(std::vector<std::uint32_t>(ports.begin(), ports.begin() + 12),
            std::vector<std::uint32_t>(12, 24));
  EXPECT_EQ(std::vector<std::uint32_t>(ports.begin() + 12, ports.end()),
            std::vector<std::uint32_t>(12, 12));
  EXPECT_TRUE(parse_cluster(to_toml(cluster), "written").ok());
}

}  // namespace
}  // namespace alm::topology

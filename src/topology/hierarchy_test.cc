#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "topology/cluster.h"
#include "topology/generate.h"

namespace alm::topology {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Hierarchy must(const Cluster& cluster) {
  auto result = hierarchy(cluster);
  EXPECT_TRUE(result.ok()) << (result ? "" : result.error().message);
  return result ? std::move(result).value() : Hierarchy{};
}

TreeNode leaf(std::uint32_t hosts) {
  return {.node = {}, .hosts = hosts, .uplink = {}, .children = {}};
}
TreeNode over(std::vector<TreeNode> children, std::uint32_t hosts = 0) {
  return {.node = {}, .hosts = hosts, .uplink = {}, .children = std::move(children)};
}

TEST(Hierarchy, OneSwitchIsOneLevel) {
  const Hierarchy h = must(build_one_switch(4));
  EXPECT_THAT(h.level, ElementsAre(ElementsAre(0, 0, 0, 0)));
}

TEST(Hierarchy, UnequalGroups) {
  const Hierarchy h = must(build_tree(TreeSpec{.groups = {1, 3, 2}}));
  EXPECT_THAT(h.level, ElementsAre(ElementsAre(0, 1, 1, 1, 2, 2), Each(0u)));
}

TEST(Hierarchy, ThreeLevels) {
  const Hierarchy h = must(build_tree(over({over({leaf(2), leaf(1)}), over({leaf(1), leaf(2)})})));
  EXPECT_THAT(h.level,
              ElementsAre(ElementsAre(0, 0, 1, 2, 3, 3), ElementsAre(0, 0, 0, 1, 1, 1), Each(0u)));
}

// A host higher up than others is grouped by its own switch on the levels below.
TEST(Hierarchy, UnevenDepth) {
  const Hierarchy h =
      must(build_tree(over({over({leaf(2), leaf(2)}), over({leaf(1)}), leaf(3)}, 1)));
  ASSERT_EQ(h.level.size(), 3u);
  EXPECT_THAT(h.level[0], ElementsAre(0, 1, 1, 2, 2, 3, 4, 4, 4));
  EXPECT_THAT(h.level[1], ElementsAre(0, 1, 1, 1, 1, 2, 3, 3, 3));
  EXPECT_THAT(h.level[2], Each(0u));
}

TEST(Hierarchy, PartitionsAreNestedOnManyTrees) {
  std::uint32_t state = 1;
  const auto random = [&](std::uint32_t n) {
    return (state = state * 1664525 + 1013904223) / 65536 % n;
  };
  const auto grow = [&](const auto& self, int depth) -> TreeNode {
    TreeNode node = leaf(depth == 0 ? 1 + random(3) : random(3));
    for (std::uint32_t i = 0; depth > 0 && i < 1 + random(3); ++i) {
      node.children.push_back(self(self, depth - 1 - static_cast<int>(random(depth))));
    }
    return node;
  };
  for (int trial = 0; trial < 200; ++trial) {
    const Cluster cluster = build_tree(grow(grow, 4));
    const Hierarchy h = must(cluster);
    EXPECT_THAT(h.level.back(), Each(0u));
    for (std::size_t l = 0; l < h.level.size(); ++l) {
      std::uint32_t next = 0;
      std::map<std::uint32_t, std::uint32_t> above;
      for (std::uint32_t host = 0; host < cluster.host_count(); ++host) {
        const std::uint32_t group = h.level[l][host];
        ASSERT_LE(group, next) << "trial " << trial;  // dense, in order of first appearance
        next = std::max(next, group + 1);
        if (l + 1 == h.level.size()) continue;
        const auto [it, is_new] = above.try_emplace(group, h.level[l + 1][host]);
        ASSERT_EQ(it->second, h.level[l + 1][host]) << "trial " << trial;
      }
    }
  }
}

TEST(Hierarchy, TwoLinkedLeavesAndChains) {
  auto cluster = parse_cluster(R"(format = 1
name = "chain"
switch = [{ name = "s[0-2]" }]
host = [{ name = "h[0-5]" }]
link = [{ from = "h[0-5]", to = "s0,s0,s1,s1,s2,s2", rate_mbit_s = 100 },
        { from = "s[0-1]", to = "s[1-2]", rate_mbit_s = 100 }])",
                               "chain");
  ASSERT_TRUE(cluster.ok()) << cluster.error().message;
  EXPECT_EQ(cluster.value().node_name(root_switch(cluster.value())), "s1");
  EXPECT_THAT(must(cluster.value()).level, ElementsAre(ElementsAre(0, 0, 1, 1, 2, 2), Each(0u)));
}

TEST(Hierarchy, RefusesLoops) {
  auto cluster =
      load_cluster(std::string(ALM_SOURCE_DIR) + "/tests/fixtures/clusters/good/everything.toml");
  ASSERT_TRUE(cluster.ok());
  const auto result = hierarchy(cluster.value());
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().message, HasSubstr("not a tree"));
}

TEST(Hierarchy, WithoutATreeSchedulesSeeTheLeaves) {
  EXPECT_EQ(schedule_hierarchy(build_tree(TreeSpec{.groups = {1, 3, 2}})).level,
            must(build_tree(TreeSpec{.groups = {1, 3, 2}})).level);
  const Cluster leaves_and_spines = build_two_level(3, 2, 2);
  EXPECT_THAT(schedule_hierarchy(leaves_and_spines).level,
              ElementsAre(ElementsAre(0, 0, 1, 1, 2, 2)));
}

}  // namespace
}  // namespace alm::topology

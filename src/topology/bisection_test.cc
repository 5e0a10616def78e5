#include <gtest/gtest.h>

#include <string>

#include "topology/cluster.h"

namespace alm::topology {
namespace {

Bisection bisect(const Cluster& cluster) {
  auto result = bisection(cluster);
  EXPECT_TRUE(result.ok()) << (result ? "" : result.error().message);
  return result ? result.value() : Bisection{};
}

// One switch: half the hosts' links. 8x3: one leaf and half of another.
TEST(Bisection, Trees) {
  EXPECT_EQ(bisect(build_one_switch(16)).links, 8u);
  EXPECT_EQ(bisect(build_one_switch(16)).mbit_s, 800);
  EXPECT_EQ(bisect(build_one_switch(5)).links, 2u);
  EXPECT_EQ(bisect(build_one_switch(1)).links, 0u);
  EXPECT_EQ(bisect(build_tree(TreeSpec{.groups = {8, 8}})).links, 1u);
  EXPECT_EQ(bisect(build_tree(TreeSpec{.groups = {8, 8, 8}})).links, 5u);
  EXPECT_EQ(bisect(build_tree(TreeSpec{.groups = {8, 8, 8, 8}})).links, 2u);
  EXPECT_EQ(bisect(build_tree(TreeSpec{.groups = {6, 6, 6, 6}})).links, 2u);
}

// With two thin uplinks the least bandwidth is cut around their leaves.
TEST(Bisection, Bandwidth) {
  EXPECT_EQ(bisect(build_tree(TreeSpec{.groups = {8, 8}})).mbit_s, 1000);
  EXPECT_EQ(bisect(build_tree(TreeSpec{.groups = {8, 8}, .uplink_mbit_s = 412})).mbit_s, 412);
  EXPECT_EQ(bisect(build_tree(TreeSpec{.groups = {8, 8, 8, 8}, .uplink_mbit_s = 412})).mbit_s, 824);
  EXPECT_EQ(bisect(build_tree(TreeSpec{.groups = {8, 8, 8}})).mbit_s, 1400);
  Cluster uneven = build_tree(TreeSpec{.groups = {2, 2, 2, 2}});
  for (const std::size_t i : {8, 11}) uneven.links[i].rate_up_mbit_s = 10;
  EXPECT_EQ(bisect(uneven).links, 2u);
  EXPECT_EQ(bisect(uneven).mbit_s, 20);
}

TEST(Bisection, TheSlowerDirectionCounts) {
  Cluster cluster = build_tree(TreeSpec{.groups = {8, 8}, .uplink_mbit_s = 500});
  cluster.links.back().rate_down_mbit_s = 200;
  EXPECT_EQ(bisect(cluster).mbit_s, 200);
}

// 16 hosts over the switches named by the trunks, as evenly as possible: 001 Figure 10.
Cluster with_trunks(std::uint32_t switches, const std::string& from, const std::string& to) {
  std::string host_to;
  for (std::uint32_t i = 0; i < 16; ++i) {
    host_to += (i ? ",s" : "s") + std::to_string(i % switches);
  }
  const std::string text = R"(format = 1
name = "trunks"
switch = [{ name = "s[0-)" +
                           std::to_string(switches - 1) + R"(]" }]
host = [{ name = "h[0-15]" }]
link = [{ from = "h[0-15]", to = ")" +
                           host_to + R"(", rate_mbit_s = 600 },
        { from = ")" + from +
                           R"(", to = ")" + to + R"(", rate_mbit_s = 1280 }])";
  auto cluster = parse_cluster(text, "trunks");
  EXPECT_TRUE(cluster.ok()) << (cluster ? "" : cluster.error().message);
  return cluster ? std::move(cluster).value() : Cluster{};
}

// Trunks between each pair (i, j) for which `linked` says so.
template <class Linked>
std::uint32_t links_cut(std::uint32_t switches, Linked linked) {
  std::string from, to;
  for (std::uint32_t i = 0; i < switches; ++i) {
    for (std::uint32_t j = i + 1; j < switches; ++j) {
      if (!linked(i, j)) continue;
      from += (from.empty() ? "s" : ",s") + std::to_string(i);
      to += (to.empty() ? "s" : ",s") + std::to_string(j);
    }
  }
  return bisect(with_trunks(switches, from, to)).links;
}

TEST(Bisection, TheSixTopologiesOfFigure10) {
  EXPECT_EQ(links_cut(4, [](int i, int j) { return j == i + 1; }), 1u);
  EXPECT_EQ(links_cut(4, [](int i, int j) { return j == i + 1 || j == i + 3; }), 2u);
  EXPECT_EQ(links_cut(4, [](int, int) { return true; }), 4u);
  EXPECT_EQ(links_cut(6, [](int i, int j) { return (i + j) % 2 == 1; }), 5u);
  EXPECT_EQ(links_cut(6, [](int i, int j) { return j - i != 3; }), 6u);
  EXPECT_EQ(links_cut(6, [](int, int) { return true; }), 9u);
}

// The dynamic programme and the exhaustive search agree: a far, slow, hostless loop switches the
// method without offering a cheaper cut.
TEST(Bisection, BothMethodsAgree) {
  for (const std::vector<std::uint32_t>& groups :
       {std::vector<std::uint32_t>{3, 5, 2}, {1, 1, 7}, {4, 4}, {2, 9, 3, 3}, {6}}) {
    Cluster tree = build_tree(TreeSpec{.groups = groups, .uplink_mbit_s = 230});
    Cluster looped = tree;
    looped.switches.push_back({.name = "spare"});
    const NodeId top = root_switch(tree);
    const NodeId spare{
        static_cast<std::uint32_t>(looped.hosts.size() + looped.switches.size() - 1)};
    const Link trunk{.from = top, .to = spare, .rate_up_mbit_s = 1, .rate_down_mbit_s = 1};
    looped.links.insert(looped.links.end(), {trunk, trunk});
    EXPECT_EQ(bisect(tree).links, bisect(looped).links);
    EXPECT_EQ(bisect(tree).mbit_s, bisect(looped).mbit_s);
  }
}

TEST(Bisection, LargeTreesAreQuickAndLargeMeshesRefused) {
  const Cluster big = build_tree(TreeSpec{.groups = std::vector<std::uint32_t>(128, 32)});
  EXPECT_EQ(bisect(big).links, 64u);
  Cluster mesh = build_tree(TreeSpec{.groups = std::vector<std::uint32_t>(20, 2)});
  mesh.links.push_back(mesh.links.back());
  EXPECT_FALSE(bisection(mesh).ok());
}

}  // namespace
}  // namespace alm::topology

#include "routing/routes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

namespace alm::routing {
namespace {

using topology::Cluster;

Routes make(const Cluster& cluster, Rule rule) {
  auto made = Routes::make(cluster, rule);
  EXPECT_TRUE(made.ok());
  return std::move(made).value();
}

std::string end_of(const Cluster& cluster, std::uint32_t port) {
  const topology::Link& link = cluster.links[port / 2];
  return cluster.node_name(port % 2 == 0 ? link.to : link.from);
}

TEST(Routes, TreesHaveOnePath) {
  const Cluster cluster = topology::build_tree(topology::TreeSpec{.groups = {2, 2}});
  for (const Rule rule : {Rule::kEcmp, Rule::kDModK, Rule::kSource}) {
    const Routes routes = make(cluster, rule);
    std::vector<std::string> nodes;
    for (const std::uint32_t port : routes.path(0, 3, 5)) nodes.push_back(end_of(cluster, port));
    EXPECT_THAT(nodes, ::testing::ElementsAre("leaf0", "core", "leaf1", "h3"));
    EXPECT_EQ(routes.path(0, 1, 5).size(), 2u);
    EXPECT_EQ(routes.path_count(0, 3), 1u);
  }
}

TEST(Routes, FatTreesHaveAPathPerCoreSwitch) {
  const Cluster cluster = topology::build_fat_tree({.hosts = 128}).value();
  const Routes routes = make(cluster, Rule::kSource);
  EXPECT_EQ(routes.path_count(0, 1), 1u);  // same edge switch
  EXPECT_EQ(routes.path_count(0, 5), 4u);  // same pod
  EXPECT_EQ(routes.path_count(0, 127), 16u);
  std::set<std::vector<std::uint32_t>> paths;
  for (std::uint32_t path = 0; path < 16; ++path) paths.insert(routes.path(0, 127, path));
  EXPECT_EQ(paths.size(), 16u);
  EXPECT_EQ(routes.path(0, 127, 16), routes.path(0, 127, 0));
}

// In each step of a shift every host sends one packet and receives one. With destination tables no
// link of a non-blocking fat tree carries two of them.
TEST(Routes, DModKMakesShiftsContentionFree) {
  const Cluster cluster = topology::build_fat_tree({.hosts = 128}).value();
  const Routes routes = make(cluster, Rule::kDModK);
  for (std::uint32_t step = 1; step < 128; ++step) {
    std::map<std::uint32_t, std::uint32_t> load;
    for (std::uint32_t host = 0; host < 128; ++host) {
      for (const std::uint32_t port : routes.path(host, (host + step) % 128, 0)) ++load[port];
    }
    for (const auto& [port, packets] : load) {
      ASSERT_EQ(packets, 1u) << "step " << step << " into " << end_of(cluster, port);
    }
  }
}

TEST(Routes, EcmpSpreadsFlowsAndKeepsEachOnItsPath) {
  const Cluster cluster = topology::build_fat_tree({.hosts = 128}).value();
  const Routes routes = make(cluster, Rule::kEcmp);
  std::map<std::uint32_t, int> core;
  constexpr std::uint32_t kFlows = 16'000;
  for (std::uint32_t entropy = 0; entropy < kFlows; ++entropy) {
    const std::uint32_t flow = flow_hash(0, 127, entropy);
    const auto path = routes.path(0, 127, flow);
    EXPECT_EQ(path, routes.path(0, 127, flow));
    ++core[path[2]];
  }
  EXPECT_EQ(core.size(), 16u);
  for (const auto& [port, flows] : core) EXPECT_NEAR(flows, 1000, 150);
}

TEST(Routes, NamesAreRead) {
  for (const Rule rule : {Rule::kEcmp, Rule::kDModK, Rule::kSource}) {
    EXPECT_EQ(parse_rule(name_of(rule)).value(), rule);
  }
  EXPECT_THAT(parse_rule("best").error().message, ::testing::HasSubstr("d-mod-k"));
}

TEST(Routes, RefusesHostsOutOfReach) {
  Cluster cluster = topology::build_one_switch(2);
  cluster.hosts.push_back({.name = "h2", .address = {}, .interface = {}});
  EXPECT_FALSE(Routes::make(cluster, Rule::kEcmp).ok());
}

}  // namespace
}  // namespace alm::routing

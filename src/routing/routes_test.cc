#include "routing/routes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "topology/generate.h"

namespace alm::routing {
namespace {

using topology::Cluster;

Routes routes_by(const Cluster& cluster, Rule rule) {
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
    const Routes routes = routes_by(cluster, rule);
    std::vector<std::string> nodes;
    for (const std::uint32_t port : routes.path(0, 3, 5)) nodes.push_back(end_of(cluster, port));
    EXPECT_THAT(nodes, ::testing::ElementsAre("leaf0", "core", "leaf1", "h3"));
    EXPECT_EQ(routes.path(0, 1, 5).size(), 2u);
    EXPECT_EQ(routes.path_count(0, 3), 1u);
  }
}

TEST(Routes, FatTreesHaveAPathPerCoreSwitch) {
  const Cluster cluster = topology::build_fat_tree(128).value();
  const Routes routes = routes_by(cluster, Rule::kSource);
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
  const Cluster cluster = topology::build_fat_tree(128).value();
  const Routes routes = routes_by(cluster, Rule::kDModK);
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
  const Cluster cluster = topology::build_fat_tree(128).value();
  const Routes routes = routes_by(cluster, Rule::kEcmp);
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

// From any switch that a packet came down to, the route on is down.
TEST(Routes, UpDownNeverTurnsUp) {
  for (const char* name : {"torus:4x4", "torus:5x3", "dragonfly:1x4x2", "leaf-spine:2x4x3"}) {
    const Cluster cluster = topology::generate(name).value();
    const Routes routes = routes_by(cluster, Rule::kUpDown);
    EXPECT_LE(routes.path(0, cluster.host_count() - 1, 0).size(), 12u);
    for (std::uint32_t from = 0; from < cluster.host_count(); ++from) {
      for (std::uint32_t to = 0; to < cluster.host_count(); ++to) {
        if (from == to) continue;
        EXPECT_LE(routes.path(from, to, 0).size(), cluster.switches.size());
      }
    }
  }
}

// 001 Figure 3: destination i is i shifted left by one bit. Of four switches in the middle stage
// two carry all eight packets; by way of random hosts the load evens out.
TEST(Routes, ShufflesMeetInTheMiddleAndValiantEvensThemOut) {
  const Cluster cluster = topology::generate("shuffle-exchange:8").value();
  const auto middle = [&](Rule rule, std::uint32_t messages) {
    const Routes routes = routes_by(cluster, rule);
    std::map<std::string, double> load;
    for (std::uint32_t i = 0; i < 8; ++i) {
      const std::uint32_t to = (2 * i + i / 4) % 8;
      if (to == i) continue;
      for (std::uint32_t message = 0; message < messages; ++message) {
        for (const std::uint32_t port : routes.path(i, to, message)) {
          const std::string end = end_of(cluster, port);
          if (end.starts_with("s1")) load[end] += 1.0 / messages;
        }
      }
    }
    return load;
  };
  EXPECT_EQ(middle(Rule::kDModK, 1), (std::map<std::string, double>{{"s1x0", 3}, {"s1x3", 3}}));
  const auto even = middle(Rule::kValiant, 4000);
  ASSERT_EQ(even.size(), 4u);
  double sum = 0, most = 0;
  for (const auto& [name, load] : even) {
    sum += load;
    most = std::max(most, load);
  }
  EXPECT_LT(most, 1.1 * sum / 4);
}

TEST(Routes, DeadLinksAreAvoided) {
  const Cluster cluster = topology::generate("leaf-spine:2x2x2").value();
  Settings settings;
  settings.dead.assign(cluster.links.size(), false);
  settings.dead[4] = true;  // leaf0 - spine0
  for (const Rule rule : {Rule::kDModK, Rule::kEcmp, Rule::kLid, Rule::kUpDown, Rule::kFm1,
                          Rule::kFm2, Rule::kSource}) {
    const auto made = Routes::make(cluster, rule, settings);
    ASSERT_TRUE(made.ok()) << name_of(rule);
    for (std::uint32_t label = 0; label < 16; ++label) {
      for (const std::uint32_t port : made.value().path(0, 3, label)) EXPECT_NE(port / 2, 4u);
    }
  }
  settings.dead[5] = true;  // leaf0 - spine1
  EXPECT_FALSE(Routes::make(cluster, Rule::kDModK, settings).ok());
}

TEST(Routes, NamesAreRead) {
  for (const Rule rule :
       {Rule::kEcmp, Rule::kDModK, Rule::kSource, Rule::kLid, Rule::kUpDown, Rule::kValiant,
        Rule::kFm1, Rule::kFm2, Rule::kAlternate, Rule::kRandom, Rule::kLeastLoaded}) {
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

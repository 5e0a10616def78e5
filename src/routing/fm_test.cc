#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "routing/routes.h"
#include "topology/generate.h"

namespace alm::routing {
namespace {

using topology::Cluster;

Routes make(const Cluster& cluster, Rule rule) {
  auto made = Routes::make(cluster, rule);
  EXPECT_TRUE(made.ok()) << (made ? "" : made.error().message);
  return made ? std::move(made).value() : Routes{};
}

std::string text(const Cluster& cluster, const std::vector<std::uint32_t>& ports) {
  std::string out;
  for (const std::uint32_t port : ports) {
    const topology::Link& link = cluster.links[port / 2];
    out += (out.empty() ? "" : " ") + cluster.node_name(port % 2 == 0 ? link.to : link.from);
  }
  return out;
}

// 001 Figure 6: pairs 8 apart on four switches, all linked. The first routes put four connections
// on two links; alternatives leave at most two to each.
TEST(FastMessages, PairsEightApartMeetOnTwoLinksUnlessRoutesAlternate) {
  const Cluster cluster = topology::generate("myrinet:4").value();
  const Routes routes = make(cluster, Rule::kFm1);
  std::map<std::uint32_t, int> load;
  for (std::uint32_t i = 0; i < 8; ++i) {
    const auto path = routes.path(i, i + 8, 0);
    ASSERT_EQ(path.size(), 3u);
    ++load[path[1]];
  }
  EXPECT_EQ(load.size(), 2u);
  for (const auto& [port, connections] : load) EXPECT_EQ(connections, 4);
}

TEST(FastMessages, SecondRoutesShareNoTrunkWithTheFirst) {
  for (const char* name :
       {"myrinet:2", "myrinet:4", "myrinet:5", "myrinet:9", "leaf-spine:2x3x2"}) {
    const Cluster cluster = topology::generate(name).value();
    const Routes first = make(cluster, Rule::kFm1), second = make(cluster, Rule::kFm2);
    for (std::uint32_t from = 0; from < cluster.host_count(); ++from) {
      for (std::uint32_t to = 0; to < cluster.host_count(); ++to) {
        if (from == to) continue;
        const auto a = first.path(from, to, 0), b = second.path(from, to, 0);
        EXPECT_GE(b.size(), a.size());
        std::set<std::uint32_t> trunks(a.begin() + 1, a.end() - 1);
        for (std::size_t i = 1; i + 1 < b.size(); ++i) EXPECT_EQ(trunks.count(b[i]), 0u) << name;
      }
    }
  }
}

// A chain has one way only; two hosts of a switch go around by a neighbour.
TEST(FastMessages, SecondRoutesOfAChainAndOfASwitch) {
  const Cluster chain = topology::generate("myrinet:1").value();
  EXPECT_EQ(make(chain, Rule::kFm2).path(0, 15, 0), make(chain, Rule::kFm1).path(0, 15, 0));
  EXPECT_EQ(text(chain, make(chain, Rule::kFm1).path(0, 1, 0)), "s0 h1");
  EXPECT_EQ(text(chain, make(chain, Rule::kFm2).path(0, 1, 0)), "s0 s1 s0 h1");
}

// Among equal routes the one with the least used links: of four hosts' routes to one leaf, two go
// by each spine.
TEST(FastMessages, EqualRoutesAreSpread) {
  const Cluster cluster = topology::generate("leaf-spine:4x2x2").value();
  const Routes routes = make(cluster, Rule::kFm1);
  std::map<std::uint32_t, int> load;
  for (std::uint32_t from = 0; from < 4; ++from) {
    for (std::uint32_t to = 4; to < 8; ++to) ++load[routes.path(from, to, 0)[1]];
  }
  ASSERT_EQ(load.size(), 2u);
  for (const auto& [port, used] : load) EXPECT_EQ(used, 8);
}

TEST(FastMessages, AlternateAndRandomTakeBoth) {
  const Cluster cluster = topology::generate("myrinet:4").value();
  const Routes first = make(cluster, Rule::kFm1), second = make(cluster, Rule::kFm2);
  const Routes alternate = make(cluster, Rule::kAlternate), random = make(cluster, Rule::kRandom);
  int firsts = 0;
  for (std::uint32_t message = 0; message < 1000; ++message) {
    EXPECT_EQ(alternate.path(0, 8, message), (message % 2 == 0 ? first : second).path(0, 8, 0));
    firsts += random.path(0, 8, message) == first.path(0, 8, 0) ? 1 : 0;
  }
  EXPECT_NEAR(firsts, 500, 80);
}

TEST(FastMessages, LargeNetworksAreRefused) {
  const auto made = Routes::make(topology::generate("fat-tree:1024").value(), Rule::kFm2);
  ASSERT_FALSE(made.ok());
  EXPECT_THAT(made.error().message, ::testing::HasSubstr("expected at most 512"));
}

}  // namespace
}  // namespace alm::routing

#include <gtest/gtest.h>

#include <set>

#include "routing/routes.h"
#include "topology/generate.h"

namespace alm::routing {
namespace {

using topology::Cluster;

std::vector<std::uint32_t> circle(const char* name, Rule rule) {
  const Cluster cluster = topology::generate(name).value();
  auto made = Routes::make(cluster, rule);
  EXPECT_TRUE(made.ok()) << name << (made ? "" : made.error().message);
  if (!made) return {};
  const auto out = made.value().circle(cluster);
  // Each leads to where the next begins.
  for (std::size_t i = 0; i < out.size(); ++i) {
    const topology::Link& link = cluster.links[out[i] / 2];
    const topology::Link& after = cluster.links[out[(i + 1) % out.size()] / 2];
    const bool up = out[i] % 2 == 0, next_up = out[(i + 1) % out.size()] % 2 == 0;
    EXPECT_EQ(up ? link.to : link.from, next_up ? after.from : after.to);
  }
  return out;
}

// Dally and Seitz 1987: shortest paths around a ring of five can wait for each other, those of a
// ring of three go over one trunk only; up*/down* never do.
TEST(Circle, RingsHaveThemAndUpDownHasNone) {
  EXPECT_EQ(circle("lossless-torus:5", Rule::kDModK).size(), 5u);
  EXPECT_TRUE(circle("lossless-torus:3", Rule::kDModK).empty());
  for (const char* name : {"lossless-torus:5", "lossless-torus:4x4", "lossless-dragonfly:1x4x2",
                           "myrinet:2", "myrinet:9", "ib-144", "lossless-fat-tree:16"}) {
    EXPECT_TRUE(circle(name, Rule::kUpDown).empty()) << name;
  }
}

TEST(Circle, NetworksThatDropHaveNone) { EXPECT_TRUE(circle("torus:5", Rule::kDModK).empty()); }

TEST(Circle, FatTreesHaveNoneUnlessPacketsTurnAtALeaf) {
  for (const Rule rule : {Rule::kDModK, Rule::kEcmp, Rule::kLid}) {
    EXPECT_TRUE(circle("lossless-fat-tree:16", rule).empty());
  }
  EXPECT_FALSE(circle("lossless-leaf-spine:2x3x2", Rule::kValiant).empty());
}

// 001: first routes between four switches, all linked, have one trunk; second routes have two.
TEST(Circle, SecondRoutesOfMyrinetsHaveOne) {
  EXPECT_TRUE(circle("myrinet:4", Rule::kFm1).empty());
  EXPECT_FALSE(circle("myrinet:4", Rule::kAlternate).empty());
}

}  // namespace
}  // namespace alm::routing

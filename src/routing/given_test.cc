#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "routing/routes.h"
#include "topology/cluster.h"

namespace alm::routing {
namespace {

using testing::HasSubstr;

// h0, h1 at leaf a, h2, h3 at leaf b, spines c and d.
topology::Cluster two_spines() {
  return topology::parse_cluster(R"(
format = 1
name = "two-spines"
[[switch]]
name = "a,b,c,d"
[[host]]
name = "h[0-3]"
[[link]]
from = "h[0-1]"
to = "a"
rate_mbit_s = 100
[[link]]
from = "h[2-3]"
to = "b"
rate_mbit_s = 100
[[link]]
from = "a,b"
to = "c"
rate_mbit_s = 100
[[link]]
from = "a,b"
to = "d"
rate_mbit_s = 100
)",
                                 "two-spines")
      .value();
}

constexpr std::uint32_t kA = 0, kB = 1, kC = 2, kD = 3;

Settings given(std::vector<GivenRoutes> routes) {
  Settings settings;
  settings.given = std::move(routes);
  return settings;
}

TEST(Given, PathNumbersTakeTheRoutesInTurn) {
  const auto cluster = two_spines();
  const auto routes =
      Routes::make(cluster, Rule::kGiven, given({{0, 2, {{kA, kD, kB}, {kA, kC, kB}}}})).value();
  EXPECT_EQ(routes.path_count(0, 2), 2u);
  EXPECT_EQ(routes.path_count(1, 2), 1u);
  // Links: 4 a-c, 5 b-c, 6 a-d, 7 b-d; those of hosts are 0 to 3.
  const std::vector<std::uint32_t> by_d{0, 12, 15, 5}, by_c{0, 8, 11, 5};
  EXPECT_EQ(routes.path(0, 2, 0), by_d);
  EXPECT_EQ(routes.path(0, 2, 1), by_c);
  EXPECT_EQ(routes.path(0, 2, 2), by_d);
}

TEST(Given, OtherPairsTakeTheRouteOfTables) {
  const auto cluster = two_spines();
  const auto routes = Routes::make(cluster, Rule::kGiven, given({{0, 2, {{kA, kD, kB}}}})).value();
  const auto tables = Routes::make(cluster, Rule::kDModK).value();
  for (std::uint32_t from = 0; from < 4; ++from) {
    for (std::uint32_t to = 0; to < 4; ++to) {
      if (from == to || (from == 0 && to == 2)) continue;
      EXPECT_EQ(routes.path(from, to, 0), tables.path(from, to, 0)) << from << " " << to;
    }
  }
}

TEST(Given, ARouteThatIsNoneIsRefused) {
  const auto cluster = two_spines();
  const auto jumps = Routes::make(cluster, Rule::kGiven, given({{0, 2, {{kA, kB}}}}));
  ASSERT_FALSE(jumps.ok());
  EXPECT_THAT(jumps.error().message,
              HasSubstr("from `h0` to `h2` leads from `a` to `b`, which no link joins"));
  EXPECT_FALSE(Routes::make(cluster, Rule::kGiven, given({{0, 2, {}}})).ok());
}

}  // namespace
}  // namespace alm::routing

#include "schedule/spread_over_routes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

namespace alm::schedule {
namespace {

// The most that a leaf sends or receives by one route, and the least that this can be.
void expect_even(const std::vector<LeafSend>& sends, std::uint32_t leaves, std::uint32_t routes) {
  const auto route = spread_over_routes(sends, leaves, routes);
  ASSERT_EQ(route.size(), sends.size());
  std::vector<std::uint32_t> sent(leaves * routes), received(leaves * routes), up(leaves),
      down(leaves);
  std::uint32_t fullest = 0, most = 0;
  for (std::size_t i = 0; i < sends.size(); ++i) {
    ASSERT_LT(route[i], routes);
    most = std::max({most, ++sent[sends[i].from * routes + route[i]],
                     ++received[sends[i].to * routes + route[i]]});
    fullest = std::max({fullest, ++up[sends[i].from], ++down[sends[i].to]});
  }
  EXPECT_EQ(most, (fullest + routes - 1) / routes) << leaves << " leaves, " << routes << " routes";
}

TEST(SpreadOverRoutes, RandomPermutationsLoadEveryRouteAlike) {
  std::mt19937_64 random(5);
  for (int draw = 0; draw < 300; ++draw) {
    const auto leaves = static_cast<std::uint32_t>(2 + random() % 12);
    const auto hosts = static_cast<std::uint32_t>(1 + random() % 12);
    std::vector<std::uint32_t> to(leaves * hosts);
    std::iota(to.begin(), to.end(), 0);
    std::shuffle(to.begin(), to.end(), random);
    std::vector<LeafSend> sends;
    for (std::uint32_t from = 0; from < to.size(); ++from) {
      if (from / hosts != to[from] / hosts) sends.push_back({from / hosts, to[from] / hosts});
    }
    if (!sends.empty()) expect_even(sends, leaves, static_cast<std::uint32_t>(1 + random() % 13));
  }
}

TEST(SpreadOverRoutes, AnyTrafficIsSpread) {
  std::mt19937_64 random(6);
  for (int draw = 0; draw < 100; ++draw) {
    const auto leaves = static_cast<std::uint32_t>(2 + random() % 8);
    std::vector<LeafSend> sends(1 + random() % 400);
    for (LeafSend& send : sends) {
      send.from = static_cast<std::uint32_t>(random() % leaves);
      send.to = static_cast<std::uint32_t>(random() % leaves);
    }
    expect_even(sends, leaves, static_cast<std::uint32_t>(1 + random() % 6));
  }
}

TEST(SpreadOverRoutes, NothingToSend) { EXPECT_TRUE(spread_over_routes({}, 4, 4).empty()); }

}  // namespace
}  // namespace alm::schedule

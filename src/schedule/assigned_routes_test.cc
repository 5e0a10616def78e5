#include "schedule/assigned_routes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace alm::schedule {
namespace {

constexpr std::uint32_t kMembers = 16, kRoutes = 4;

std::vector<std::uint32_t> four_leaves() {
  std::vector<std::uint32_t> leaf_of;
  for (std::uint32_t i = 0; i < kMembers; ++i) leaf_of.push_back(i / 4);
  return leaf_of;
}

// Bytes of the fullest link, up or down.
std::uint64_t fullest(const std::vector<std::uint32_t>& leaf_of,
                      const std::vector<std::uint8_t>& route,
                      const std::vector<std::uint64_t>& bytes) {
  std::map<std::tuple<bool, std::uint32_t, std::uint8_t>, std::uint64_t> load;
  for (std::uint32_t from = 0; from < leaf_of.size(); ++from) {
    for (std::uint32_t to = 0; to < leaf_of.size(); ++to) {
      const std::size_t pair = from * leaf_of.size() + to;
      if (route[pair] == kNoRoute) continue;
      load[{true, leaf_of[from], route[pair]}] += bytes[pair];
      load[{false, leaf_of[to], route[pair]}] += bytes[pair];
    }
  }
  std::uint64_t most = 0;
  for (const auto& [link, sum] : load) most = std::max(most, sum);
  return most;
}

TEST(AssignedRoutes, APermutationLoadsEveryRouteAlike) {
  const auto leaf_of = four_leaves();
  for (std::uint32_t shift = 1; shift < kMembers; ++shift) {
    std::vector<std::uint64_t> bytes(kMembers * kMembers, 0);
    for (std::uint32_t i = 0; i < kMembers; ++i) {
      bytes[i * kMembers + (i + shift) % kMembers] = 1000;
    }
    EXPECT_EQ(fullest(leaf_of, assign_routes_to_blocks({leaf_of, kRoutes}, bytes), bytes), 1000U);
  }
}

TEST(AssignedRoutes, EveryStepIsSpread) {
  const auto leaf_of = four_leaves();
  std::vector<std::vector<base::PeerId>> sends(kMembers);
  for (std::uint32_t i = 0; i < kMembers; ++i) {
    for (std::uint32_t step = 1; step < kMembers; ++step) {
      sends[i].push_back((i + step) % kMembers);
    }
  }
  const auto route = assign_routes({leaf_of, kRoutes}, sends);
  for (std::uint32_t step = 0; step + 1 < kMembers; ++step) {
    std::vector<std::uint64_t> bytes(kMembers * kMembers, 0);
    for (std::uint32_t i = 0; i < kMembers; ++i) bytes[i * kMembers + sends[i][step]] = 1;
    EXPECT_EQ(fullest(leaf_of, route, bytes), 1U) << step;
  }
  for (std::uint32_t i = 0; i < kMembers; ++i) {
    for (std::uint32_t k = 0; k < kMembers; ++k) {
      EXPECT_EQ(route[i * kMembers + k] == kNoRoute, leaf_of[i] == leaf_of[k]);
    }
  }
}

TEST(AssignedRoutes, LargeBlocksGoApart) {
  const std::vector<std::uint32_t> leaf_of{0, 0, 0, 0, 1, 1, 1, 1};
  std::vector<std::uint64_t> bytes(64, 0);
  const std::uint64_t sizes[] = {900, 100, 800, 200};
  for (std::uint32_t i = 0; i < 4; ++i) bytes[i * 8 + 4 + i] = sizes[i];
  EXPECT_EQ(fullest(leaf_of, assign_routes_to_blocks({leaf_of, 2}, bytes), bytes), 1000U);
}

TEST(AssignedRoutes, AMemberOfNoKnownLeafHasNone) {
  const std::vector<std::uint32_t> leaf_of{0, 1, kNoLeaf};
  const auto route = assign_routes_to_blocks({leaf_of, 2}, std::vector<std::uint64_t>(9, 1));
  EXPECT_EQ(std::count(route.begin(), route.end(), kNoRoute), 7);
  EXPECT_NE(route[0 * 3 + 1], kNoRoute);
}

// Four pods of two leaves with two members each; two middle routers, each with two tops behind it.
TEST(AssignedRoutes, BetweenPodsTheLinksAboveAreLoadedAlikeToo) {
  std::vector<std::uint32_t> leaf_of;
  for (std::uint32_t i = 0; i < kMembers; ++i) leaf_of.push_back(i / 2);
  const std::vector<std::uint32_t> pod_of{0, 0, 1, 1, 2, 2, 3, 3};
  const EqualRoutes routes{leaf_of, 2, 2, pod_of};
  for (std::uint32_t shift = 1; shift < kMembers; ++shift) {
    std::vector<std::uint64_t> bytes(kMembers * kMembers, 0);
    std::vector<std::vector<base::PeerId>> sends(kMembers);
    for (std::uint32_t i = 0; i < kMembers; ++i) {
      bytes[i * kMembers + (i + shift) % kMembers] = 1000;
      sends[i].push_back((i + shift) % kMembers);
    }
    for (const auto& route :
         {assign_routes(routes, sends), assign_routes_to_blocks(routes, bytes)}) {
      std::map<std::tuple<bool, std::uint32_t, std::uint32_t>, std::uint64_t> by_leaf, by_pod;
      for (std::uint32_t i = 0; i < kMembers; ++i) {
        const std::uint32_t to = (i + shift) % kMembers;
        const std::uint8_t one = route[i * kMembers + to];
        if (leaf_of[i] == leaf_of[to]) {
          EXPECT_EQ(one, kNoRoute);
          continue;
        }
        ASSERT_LT(one, routes.count());
        by_leaf[{true, leaf_of[i], one / 2}] += 1;
        by_leaf[{false, leaf_of[to], one / 2}] += 1;
        if (i / 4 == to / 4) {
          EXPECT_EQ(one % 2, 0);
          continue;
        }
        by_pod[{true, i / 4, one}] += 1;
        by_pod[{false, to / 4, one}] += 1;
      }
      for (const auto& [link, load] : by_leaf) EXPECT_EQ(load, 1U) << shift;
      for (const auto& [link, load] : by_pod) EXPECT_EQ(load, 1U) << shift;
    }
  }
}

}  // namespace
}  // namespace alm::schedule

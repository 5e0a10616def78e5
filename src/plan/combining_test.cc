#include "plan/combining.h"

#include <gtest/gtest.h>

namespace alm::plan {
namespace {

using base::Rank;
constexpr std::uint32_t kPayloadBytes = 1448;

std::vector<Plan> on(std::uint32_t ranks) {
  return combining_plans(ranks, Rank{0}, {}, kPayloadBytes);
}

std::vector<std::uint32_t> leaf_of(std::uint32_t leaves, std::uint32_t hosts) {
  std::vector<std::uint32_t> of;
  for (std::uint32_t i = 0; i < leaves * hosts; ++i) of.push_back(i / hosts);
  return of;
}

TEST(Combining, MorePhasesForSmallerBlocks) {
  const auto many = on(1024);
  EXPECT_GT(choose_combining(many, 1, kPayloadBytes), choose_combining(many, 40, kPayloadBytes));
}

TEST(Combining, OnlyThoseThatAreTakenAreKept) {
  const std::vector<std::vector<std::uint32_t>> groups = {leaf_of(4, 8)};
  const auto few = combining_plans(32, Rank{0}, groups, kPayloadBytes);
  ASSERT_EQ(few.size(), 1u);
  EXPECT_EQ(text_of(few.front()), "grid 8 x 4");
  EXPECT_EQ(on(4).size(), 1u);
  EXPECT_TRUE(on(2).empty());
}

TEST(Combining, PaysForSmallBlocksOnly) {
  const auto all = on(32);
  EXPECT_TRUE(choose_combining(all, 100, kPayloadBytes));
  EXPECT_FALSE(choose_combining(all, 1000, kPayloadBytes));
  EXPECT_FALSE(choose_combining(all, 1 << 20, kPayloadBytes));
  EXPECT_FALSE(choose_combining(on(4), 1, kPayloadBytes));  // saves no packets
}

TEST(Combining, NumbersWithoutGoodDivisorsHaveBrucks) {
  for (const std::uint32_t ranks : {13u, 22u, 26u, 31u, 34u, 37u, 62u, 101u, 257u, 1021u}) {
    const auto all = on(ranks);
    const auto chosen = choose_combining(all, 8, kPayloadBytes);
    ASSERT_TRUE(chosen) << ranks;
    EXPECT_TRUE(all[*chosen].algorithm == Algorithm::kBruck) << ranks;
    EXPECT_LE(2 * traffic_of(all[*chosen], 8, kPayloadBytes).packets, ranks - 1u);
  }
  EXPECT_EQ(text_of(on(31).front()), "bruck 5 x 7");
  EXPECT_EQ(text_of(on(13).front()), "bruck 3 x 5");
}

// The numbers reserved for sets of peers are as many as the grids alone may ask for.
TEST(Combining, AllPhasesTogetherAreFew) {
  for (std::uint32_t ranks = 2; ranks <= 1100; ranks += ranks < 300 ? 1 : 37) {
    std::size_t phases = 0;
    for (const Plan& plan : on(ranks)) phases += plan.phases.size();
    EXPECT_LE(phases, kCombiningPhasesMax) << ranks;
  }
}

TEST(Combining, AllRanksAgree) {
  for (std::uint32_t ranks = 2; ranks <= 64; ++ranks) {
    const auto reference = on(ranks);
    for (std::uint32_t rank = 1; rank < ranks; ++rank) {
      const auto all = combining_plans(ranks, Rank{rank}, {}, kPayloadBytes);
      ASSERT_EQ(all.size(), reference.size());
      for (std::size_t i = 0; i < all.size(); ++i) {
        EXPECT_EQ(all[i].identity, reference[i].identity);
      }
    }
  }
}

}  // namespace
}  // namespace alm::plan

#include "plan/grid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <utility>

namespace alm::plan {
namespace {

using base::Rank;
using Groups = std::vector<std::vector<std::uint32_t>>;

Groups leaves(std::uint32_t leaves, std::uint32_t hosts) {
  std::vector<std::uint32_t> leaf_of;
  for (std::uint32_t i = 0; i < leaves * hosts; ++i) leaf_of.push_back(i / hosts);
  return {leaf_of};
}

std::pair<std::uint32_t, std::uint32_t> shape(std::uint32_t ranks, const Groups& groups = {}) {
  const auto grid = make_grid(ranks, Rank{0}, groups);
  return grid ? std::pair(grid->rows, grid->columns) : std::pair(0u, 0u);
}

TEST(Grid, HasTheFewestMessages) {
  EXPECT_EQ(shape(16), std::pair(4u, 4u));
  EXPECT_EQ(shape(6), std::pair(2u, 3u));
  EXPECT_EQ(shape(1024), std::pair(32u, 32u));
}

TEST(Grid, NeedsDivisors) {
  for (const std::uint32_t ranks : {1u, 2u, 3u, 5u, 31u, 257u}) {
    EXPECT_EQ(shape(ranks), std::pair(0u, 0u)) << ranks;
  }
  EXPECT_EQ(shape(4), std::pair(2u, 2u));
}

TEST(Grid, PrefersRowsUnderOneLeaf) {
  EXPECT_EQ(shape(32, leaves(4, 8)), std::pair(4u, 8u));
  EXPECT_EQ(shape(24, leaves(3, 8)), std::pair(6u, 4u));  // rows of 6 would straddle two leaves
  EXPECT_EQ(shape(24, leaves(4, 6)), std::pair(4u, 6u));
  EXPECT_EQ(shape(32, leaves(2, 16)), std::pair(4u, 8u));
}

TEST(Grid, FollowsTheLeavesAndNotTheRanks) {
  Groups cyclic(1);
  for (std::uint32_t rank = 0; rank < 32; ++rank) cyclic[0].push_back(rank % 4);
  const auto grid = make_grid(32, Rank{6}, cyclic);
  ASSERT_TRUE(grid);
  EXPECT_EQ(grid->row, 2u);
  EXPECT_EQ(grid->column, 1u);
  for (std::uint32_t column = 0; column < 8; ++column) {
    EXPECT_EQ(grid->rank_at(2, column).value % 4, 2u);
  }
}

TEST(Grid, EveryRankHasOnePlaceAndAllAgree) {
  for (std::uint32_t ranks = 4; ranks <= 257; ++ranks) {
    const auto reference = make_grid(ranks, Rank{0}, {});
    std::set<std::pair<std::uint32_t, std::uint32_t>> places;
    for (std::uint32_t rank = 0; rank < ranks && reference; ++rank) {
      const auto grid = make_grid(ranks, Rank{rank}, {});
      ASSERT_TRUE(grid);
      EXPECT_EQ(grid->at, reference->at);
      EXPECT_EQ(grid->rank_at(grid->row, grid->column), Rank{rank});
      places.emplace(grid->row, grid->column);
    }
    if (reference) {
      EXPECT_EQ(places.size(), ranks);
    }
  }
}

TEST(Grid, PaysForSmallBlocksOnly) {
  const auto grid = make_grid(32, Rank{0}, leaves(4, 8));
  ASSERT_TRUE(grid);
  constexpr std::uint32_t kPacketBytes = 1448;
  EXPECT_TRUE(grid_pays(*grid, 1, kPacketBytes));
  EXPECT_TRUE(grid_pays(*grid, 100, kPacketBytes));
  EXPECT_FALSE(grid_pays(*grid, 1000, kPacketBytes));
  EXPECT_FALSE(grid_pays(*grid, 1 << 20, kPacketBytes));
}

TEST(Grid, DoesNotPayWhereItSavesNoPackets) {
  const auto grid = make_grid(4, Rank{0}, {});
  ASSERT_TRUE(grid);
  EXPECT_FALSE(grid_pays(*grid, 1, 1448));
}

}  // namespace
}  // namespace alm::plan

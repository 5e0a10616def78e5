#include "plan/grid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "plan/combining.h"

namespace alm::plan {
namespace {

using base::Rank;
using Lengths = std::vector<std::uint32_t>;
using testing::ElementsAre;

constexpr std::uint32_t kPacketBytes = 1448;

LeafOf leaves(std::uint32_t leaves, std::uint32_t hosts) {
  std::vector<std::uint32_t> leaf_of;
  for (std::uint32_t i = 0; i < leaves * hosts; ++i) leaf_of.push_back(i / hosts);
  return {leaf_of};
}

std::vector<Lengths> shapes(std::uint32_t ranks, const LeafOf& groups = {}) {
  std::vector<Lengths> all;
  for (const Grid& grid : make_grids(ranks, Rank{0}, groups)) all.push_back(grid.lengths);
  return all;
}

TEST(Grid, HasTheFewestMessages) {
  EXPECT_THAT(shapes(16), ElementsAre(Lengths{4, 4}, Lengths{4, 2, 2}, Lengths{2, 2, 2, 2}));
  EXPECT_THAT(shapes(6), ElementsAre(Lengths{3, 2}));
  EXPECT_EQ(shapes(1024).front(), (Lengths{32, 32}));
  EXPECT_EQ(shapes(1024).back(), (Lengths{4, 4, 4, 4, 4}));
}

TEST(Grid, NeedsDivisors) {
  for (const std::uint32_t ranks : {1u, 2u, 3u, 5u, 31u, 257u}) {
    EXPECT_TRUE(shapes(ranks).empty()) << ranks;
  }
  EXPECT_THAT(shapes(4), ElementsAre(Lengths{2, 2}));
}

TEST(Grid, PrefersLinesUnderOneLeaf) {
  EXPECT_EQ(shapes(32, leaves(4, 8)).front(), (Lengths{8, 4}));
  EXPECT_EQ(shapes(24, leaves(3, 8)).front(), (Lengths{4, 6}));  // 6 would straddle two leaves
  EXPECT_EQ(shapes(24, leaves(4, 6)).front(), (Lengths{6, 4}));
}

TEST(Grid, FollowsTheLeavesAndNotTheRanks) {
  LeafOf cyclic(1);
  for (std::uint32_t rank = 0; rank < 32; ++rank) cyclic[0].push_back(rank % 4);
  const Grid grid = make_grids(32, Rank{6}, cyclic).front();
  EXPECT_EQ(grid.lengths, (Lengths{8, 4}));
  EXPECT_THAT(grid.line(0), ElementsAre(Rank{2}, Rank{6}, Rank{10}, Rank{14}, Rank{18}, Rank{22},
                                        Rank{26}, Rank{30}));
  EXPECT_THAT(grid.line(1), ElementsAre(Rank{4}, Rank{5}, Rank{6}, Rank{7}));
}

TEST(Grid, EveryLineHasSelfInItsPlaceAndAllRanksAgree) {
  for (std::uint32_t ranks = 4; ranks <= 257; ++ranks) {
    const auto reference = make_grids(ranks, Rank{0}, {});
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      const auto grids = make_grids(ranks, Rank{rank}, {});
      ASSERT_EQ(grids.size(), reference.size());
      for (std::size_t i = 0; i < grids.size(); ++i) {
        EXPECT_EQ(grids[i].at, reference[i].at);
        EXPECT_EQ(grids[i].lengths, reference[i].lengths);
        for (std::size_t d = 0; d < grids[i].dimensions(); ++d) {
          const auto line = grids[i].line(d);
          EXPECT_EQ(line.size(), grids[i].lengths[d]);
          EXPECT_EQ(line[grids[i].coordinate(grids[i].place, d)], Rank{rank});
        }
      }
    }
  }
}

TEST(Grid, MoreDimensionsMeanFewerMessages) {
  const auto packets = [](const Lengths& shape, std::uint64_t bytes) {
    const auto plan = make_plan({.ranks = 32,
                                 .self = {0},
                                 .algorithm = Algorithm::kGrid,
                                 .shape = shape,
                                 .leaf_of = leaves(4, 8)});
    return traffic_of(plan.value(), bytes, kPacketBytes).packets;
  };
  EXPECT_EQ(packets({}, 100), 7u + 3u);
  EXPECT_EQ(packets({2, 2, 2, 2, 2}, 1), 5u);
}

TEST(Grid, IsKnownByItsSides) {
  const auto plan =
      make_plan({.ranks = 32, .self = {5}, .algorithm = Algorithm::kGrid, .leaf_of = leaves(4, 8)})
          .value();
  EXPECT_EQ(plan.identity, "grid:8x4");
  EXPECT_EQ(text_of(plan), "grid 8 x 4");
  const auto named = parse_named(plan.identity).value();
  EXPECT_EQ(named.shape, (Lengths{8, 4}));
}

TEST(Grid, ShapesThatDoNotFitAreRefused) {
  const auto message = [](std::uint32_t ranks, const Lengths& shape) {
    const auto plan =
        make_plan({.ranks = ranks, .self = {0}, .algorithm = Algorithm::kGrid, .shape = shape});
    return plan ? std::string() : plan.error().message;
  };
  EXPECT_THAT(message(31, {}), testing::HasSubstr("31 ranks make no grid"));
  EXPECT_THAT(message(32, {8, 5}), testing::HasSubstr("`grid:8x5` is no grid of 32 ranks"));
  EXPECT_THAT(message(32, {32, 1}), testing::HasSubstr("sides of 2 or more"));
}

}  // namespace
}  // namespace alm::plan

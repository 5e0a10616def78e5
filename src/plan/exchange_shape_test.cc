#include "plan/exchange_shape.h"

#include <gtest/gtest.h>

#include <string_view>

namespace alm::plan {
namespace {

model::ExchangeShape shape(std::uint32_t ranks, std::string_view name) {
  auto named = parse_named(name).value();
  Request request;
  request.ranks = ranks;
  request.algorithm = named.algorithm;
  request.shape = named.shape;
  return shape_of(request).value();
}

double blocks_of(const model::ExchangeShape& shape, std::uint32_t rank) {
  double blocks = 0;
  for (const model::Phase& phase : shape.phases) {
    for (const model::Round& round : phase.rounds) {
      for (const model::Message& one : round.messages) blocks += one.from == rank ? one.blocks : 0;
    }
  }
  return blocks;
}

TEST(ExchangeShape, AShuffleIsOneCompleteRound) {
  const auto made = shape(16, "sync-shuffle");
  ASSERT_EQ(made.phases.size(), 1u);
  EXPECT_TRUE(made.phases.front().complete);
  EXPECT_EQ(made.round_count(), 1u);
  EXPECT_TRUE(made.coordinated);
  EXPECT_FALSE(shape(16, "direct").coordinated);
}

TEST(ExchangeShape, PairwiseHasOneMessageOfEachRankInARound) {
  const auto made = shape(16, "pairwise");
  ASSERT_EQ(made.round_count(), 15u);
  for (const model::Round& round : made.phases.front().rounds)
    EXPECT_EQ(round.messages.size(), 16u);
  EXPECT_EQ(shape(15, "pairwise").round_count(), 14u);  // each sits one of 15 out
}

TEST(ExchangeShape, AGridCarriesBlocksTwice) {
  const auto made = shape(32, "grid:8x4");
  ASSERT_EQ(made.phases.size(), 2u);
  EXPECT_EQ(blocks_of(made, 3), 7 * 4 + 3 * 8);
}

TEST(ExchangeShape, BrucksDigitsSayWhatTravels) {
  // Distances 1 to 7 have 12 ones in binary.
  EXPECT_EQ(blocks_of(shape(8, "one-way-bruck:2"), 0), 12);
  EXPECT_EQ(shape(8, "one-way-bruck:2").phases.size(), 3u);
}

TEST(ExchangeShape, FarMessagesArePacedAndNearOnesGoAlongside) {
  Request request;
  request.ranks = 6;
  request.site_of = {0, 0, 1, 1, 1, 2};
  request.algorithm = Algorithm::kMultiSite;
  const auto direct = shape_of(request).value();
  ASSERT_EQ(direct.phases.size(), 2u);
  EXPECT_GT(direct.phases[0].paced, 1);
  EXPECT_FALSE(direct.phases[0].complete);
  EXPECT_FALSE(direct.phases[0].alongside);
  EXPECT_TRUE(direct.phases[1].alongside);
  EXPECT_EQ(direct.phases[1].paced, 0);
  EXPECT_EQ(blocks_of(direct, 5), 5);
  request.algorithm = Algorithm::kLocalGroup;
  const auto collected = shape_of(request).value();
  ASSERT_EQ(collected.phases.size(), 2u);
  EXPECT_FALSE(collected.phases[1].alongside);
  EXPECT_GT(collected.phases[1].paced, 1);
}

}  // namespace
}  // namespace alm::plan

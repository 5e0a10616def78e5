#include "model/logp.h"

#include <gtest/gtest.h>

namespace alm::model {
namespace {

// 002 Table 5.2 with L(16) = 154 us of the IBM 8275-326 (reference section 6).
constexpr LogP kTable52{12.5e-6, 20e-6, 7e-6, 123e-6, (0.3387 * 16 + 149) * 1e-6};
constexpr std::uint32_t kPayload = 1492;

ExchangeShape rounds_of_one(std::uint32_t ranks) {
  ExchangeShape shape{.ranks = ranks, .phases = {{}}};
  for (std::uint32_t distance = 1; distance < ranks; ++distance) {
    Round& round = shape.phases.front().rounds.emplace_back();
    for (std::uint32_t r = 0; r < ranks; ++r)
      round.messages.push_back({r, (r + distance) % ranks, 1});
  }
  return shape;
}

TEST(LogP, OrderingHoldsForTheMeasuredSwitch) {
  EXPECT_TRUE(kTable52.ordering_holds());
  LogP slow = kTable52;
  slow.u_r = 100e-6;
  EXPECT_FALSE(slow.ordering_holds());
}

TEST(LogP, APacketTakesItsOverheadsAndLatency) {
  EXPECT_NEAR(point_to_point_s(kTable52, 1), (12.5 + 154.4192 + 20 + 7) * 1e-6, 1e-12);
  EXPECT_NEAR(point_to_point_s(kTable52, 5) - point_to_point_s(kTable52, 1), 4 * 123e-6, 1e-12);
}

// 002: at k = 4 pairwise comes out at 72 % of k (p-1) g on the store-and-forward switch, L = 270
// us.
TEST(LogP, PairwiseIsTheShareThatWasPublished) {
  LogP slow = kTable52;
  slow.latency = (0.3413 * 16 + 264) * 1e-6;
  const double best = 4 * 15 * slow.g;
  EXPECT_NEAR(best / pairwise_s(slow, 16, 4), 0.72, 0.015);
  EXPECT_GT(best / sync_shuffle_s(slow, 16, 4), 0.92);
}

TEST(LogP, OddNumbersOfRanksNeedOneMoreRound) {
  EXPECT_NEAR(pairwise_s(kTable52, 15, 3), 15 * (3 * kTable52.g + kTable52.once()), 1e-12);
  EXPECT_NEAR(pairwise_s(kTable52, 16, 3), 15 * (3 * kTable52.g + kTable52.once()), 1e-12);
}

TEST(LogP, GroupShuffleLiesBetweenItsEnds) {
  EXPECT_DOUBLE_EQ(group_shuffle_s(kTable52, 16, 4, 1), pairwise_s(kTable52, 16, 4));
  EXPECT_DOUBLE_EQ(group_shuffle_s(kTable52, 16, 4, 15), sync_shuffle_s(kTable52, 16, 4));
  EXPECT_NEAR(group_shuffle_s(kTable52, 16, 4, 5), 3 * kTable52.once() + 60 * kTable52.g, 1e-12);
}

TEST(LogP, AnExchangeOfPairwiseRoundsIsEquation6) {
  const ExchangeShape shape = rounds_of_one(16);
  EXPECT_NEAR(exchange_s(kTable52, shape, 4 * kPayload, kPayload), pairwise_s(kTable52, 16, 4),
              1e-12);
  ExchangeShape shuffle{.ranks = 16, .phases = {{.complete = true, .rounds = {}}}};
  EXPECT_NEAR(exchange_s(kTable52, shuffle, 4 * kPayload, kPayload),
              sync_shuffle_s(kTable52, 16, 4), 1e-12);
}

// A 4 x 4 grid sends 2 x 3 messages of 4 blocks; at 100 bytes each of them is one packet.
TEST(LogP, AGridPaysForTwoPhases) {
  ExchangeShape grid{.ranks = 16, .phases = {{}, {}}};
  for (std::uint32_t d : {1u, 4u}) {
    Round& round = grid.phases[d == 1 ? 0 : 1].rounds.emplace_back();
    for (std::uint32_t r = 0; r < 16; ++r) {
      for (std::uint32_t i = 1; i < 4; ++i) {
        const std::uint32_t at = r / d % 4;
        round.messages.push_back({r, r - at * d + (at + i) % 4 * d, 4});
      }
    }
  }
  EXPECT_NEAR(exchange_s(kTable52, grid, 100, kPayload), 2 * (kTable52.once() + 3 * kTable52.g),
              1e-12);
}

}  // namespace
}  // namespace alm::model

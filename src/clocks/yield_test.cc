#include "clocks/yield.h"

#include <gtest/gtest.h>

namespace alm::clocks {
namespace {

constexpr std::uint32_t kFull = 16;
constexpr std::uint64_t kCycle = 31;

Yield begun() {
  Yield yield;
  yield.begin(kFull, kCycle);
  return yield;
}

void send(Yield& yield, std::uint64_t packets) {
  for (std::uint64_t i = 0; i < packets; ++i) yield.sent();
}

TEST(Yield, KeepsTheFullWindowWhileNothingIsLost) {
  Yield yield = begun();
  send(yield, 1000 * kCycle);
  EXPECT_EQ(yield.window(), kFull);
  EXPECT_FALSE(yield.yielding());
}

TEST(Yield, ForgivesASingleLoss) {
  Yield yield = begun();
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(yield.lost());
    send(yield, 16 * kCycle);
  }
  EXPECT_EQ(yield.window(), kFull);
}

TEST(Yield, ASecondLossWithinSixteenCyclesHalvesTheWindow) {
  Yield yield = begun();
  EXPECT_FALSE(yield.lost());
  send(yield, 16 * kCycle - 1);
  EXPECT_TRUE(yield.lost());
  EXPECT_EQ(yield.window(), kFull / 2);
  EXPECT_TRUE(yield.yielding());
}

TEST(Yield, LossesOfOneFullQueueCutOnce) {
  Yield yield = begun();
  yield.lost();
  for (std::uint64_t i = 0; i < kCycle; ++i) {
    yield.lost();
    yield.sent();
  }
  EXPECT_EQ(yield.window(), kFull / 2);
  EXPECT_TRUE(yield.lost());
  EXPECT_EQ(yield.window(), kFull / 4);
}

TEST(Yield, NeverGoesBelowOnePacket) {
  Yield yield = begun();
  for (int i = 0; i < 20; ++i) {
    yield.lost();
    send(yield, kCycle);
  }
  EXPECT_EQ(yield.window(), 1u);
  EXPECT_FALSE(yield.lost());
}

// What is known to be no queue of others is not yielded to beyond that.
TEST(Yield, IsNotCutBelowWhatIsAllowed) {
  Yield yield = begun();
  yield.lost(12);
  EXPECT_TRUE(yield.lost(12));
  EXPECT_EQ(yield.window(), 12u);
  send(yield, kCycle);
  EXPECT_FALSE(yield.lost(12));
  EXPECT_EQ(yield.window(), 12u);
  EXPECT_TRUE(yield.lost(1));
  EXPECT_EQ(yield.window(), 6u);
}

TEST(Yield, LossesThatMayNotCutDoNotKeepTheWindowSmall) {
  Yield yield = begun();
  yield.lost(12);
  yield.lost(12);
  for (std::uint64_t i = 0; i < 130 * kCycle; ++i) {
    if (i % 50 == 0) yield.lost(12);
    yield.sent();
  }
  EXPECT_EQ(yield.window(), 14u);
}

TEST(Yield, OpensByAnEighthPerQuietSpan) {
  Yield yield = begun();
  yield.lost();
  yield.lost();
  send(yield, kCycle);  // in which no further loss counts
  send(yield, 128 * kCycle - 1);
  EXPECT_EQ(yield.window(), 8u);
  yield.sent();
  EXPECT_EQ(yield.window(), 10u);
  send(yield, 3 * 128 * kCycle);
  EXPECT_EQ(yield.window(), kFull);
  EXPECT_FALSE(yield.yielding());
}

TEST(Yield, EveryLossBeginsTheQuietSpanAnew) {
  Yield yield = begun();
  yield.lost();
  yield.lost();
  for (int i = 0; i < 10; ++i) {
    send(yield, 127 * kCycle);
    yield.lost();
  }
  EXPECT_EQ(yield.window(), 8u);
}

TEST(Yield, HoldsFromExchangeToExchangeUntilForgotten) {
  Yield yield = begun();
  yield.lost();
  yield.lost();
  yield.begin(kFull, kCycle);
  EXPECT_EQ(yield.window(), kFull / 2);
  yield.begin(4, kCycle);  // one with a smaller window
  EXPECT_EQ(yield.window(), 4u);
  yield.forget();
  yield.begin(kFull, kCycle);
  EXPECT_EQ(yield.window(), kFull);
}

}  // namespace
}  // namespace alm::clocks

#include "clocks/yield.h"

#include <gtest/gtest.h>

namespace alm::clocks {
namespace {

constexpr std::uint32_t kFull = 16;
constexpr std::uint64_t kCyclePackets = 31;

Yield full_yield() {
  Yield yield;
  yield.begin(kFull, kCyclePackets);
  return yield;
}

void send(Yield& yield, std::uint64_t packets) {
  for (std::uint64_t i = 0; i < packets; ++i) yield.sent();
}

TEST(Yield, KeepsTheFullWindowWhileNothingIsLost) {
  Yield yield = full_yield();
  send(yield, 1000 * kCyclePackets);
  EXPECT_EQ(yield.window(), kFull);
  EXPECT_FALSE(yield.yielding());
}

TEST(Yield, ForgivesASingleLoss) {
  Yield yield = full_yield();
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(yield.lost());
    send(yield, 16 * kCyclePackets);
  }
  EXPECT_EQ(yield.window(), kFull);
}

TEST(Yield, ASecondLossWithinSixteenCyclesHalvesTheWindow) {
  Yield yield = full_yield();
  EXPECT_FALSE(yield.lost());
  send(yield, 16 * kCyclePackets - 1);
  EXPECT_TRUE(yield.lost());
  EXPECT_EQ(yield.window(), kFull / 2);
  EXPECT_TRUE(yield.yielding());
}

// Loses two packets, so that the window is cut.
void overflow(Yield& yield) {
  yield.lost();
  send(yield, 1);
  yield.lost();
  send(yield, kFull);
}

// Sends for so many cycles over a queue that more than `fits` packets overflow.
void send_over(Yield& yield, std::uint32_t fits, std::uint64_t cycles) {
  for (std::uint64_t cycle = 0; cycle < cycles; ++cycle) {
    if (yield.window() > fits) overflow(yield);
    send(yield, kCyclePackets);
  }
}

TEST(YieldThatSeeks, FindsTheWindowThatLosesNothing) {
  for (const std::uint32_t fits : {2u, 3u, 5u, 11u, 20u, 24u}) {
    Yield yield(2 * kFull);
    yield.begin(2 * kFull, kCyclePackets);
    yield.needs(std::min(8 * fits, 2 * kFull));
    send_over(yield, fits, 4000);
    EXPECT_GE(yield.full(), fits) << fits;
    EXPECT_LE(yield.full(), fits + std::max(1u, fits / 8)) << fits;
    std::uint64_t at_it = 0, cycles = 4000;
    for (std::uint64_t cycle = 0; cycle < cycles; ++cycle) {
      send_over(yield, fits, 1);
      at_it += yield.window() == fits ? 1 : 0;
    }
    EXPECT_GE(at_it, cycles * 7 / 10) << fits;
  }
}

TEST(YieldThatSeeks, IsNotCutBelowAnEighthOfWhatLinksNeed) {
  Yield yield(2 * kFull);
  yield.begin(2 * kFull, kCyclePackets);
  yield.needs(2 * kFull);
  send_over(yield, 1, 4000);
  EXPECT_EQ(yield.full(), 4u);
  EXPECT_EQ(yield.window(), 4u);
}

// One packet in 40 is lost, whatever the window is.
bool opens(bool soon) {
  Yield yield(4);
  yield.begin(kFull, kCyclePackets);
  yield.needs(8);
  const auto lose = [&](int packets) {
    bool full = true;
    for (int i = 1; i <= packets; ++i) {
      yield.sent();
      if (i % 40 == 0) yield.lost(1, soon);
      full = full && yield.window() == 8;
    }
    return full;
  };
  EXPECT_FALSE(lose(4000));
  return lose(40'000);
}

TEST(YieldThatSeeks, LossesByChanceDoNotCutTheWindow) {
  EXPECT_TRUE(opens(true));
  EXPECT_FALSE(opens(false));
}

TEST(YieldThatSeeks, KeepsWhatItHasFoundWhenItForgetsOthers) {
  Yield yield(kFull);
  yield.begin(kFull, kCyclePackets);
  send_over(yield, 3, 2000);
  const std::uint32_t found = yield.full();
  yield.forget();
  yield.begin(kFull, kCyclePackets);
  EXPECT_EQ(yield.window(), found);
}

TEST(YieldThatSeeks, FindsALargerOneWhenTheQueueHoldsMore) {
  Yield yield(kFull);
  yield.begin(kFull, kCyclePackets);
  yield.needs(kFull);
  send_over(yield, 3, 2000);
  send_over(yield, kFull, 200'000);
  EXPECT_EQ(yield.window(), kFull);
}

TEST(YieldThatSeeks, TakesWhatLinksNeedAndNoMore) {
  Yield yield(4);
  yield.begin(kFull, kCyclePackets);
  yield.needs(6);
  EXPECT_EQ(yield.window(), 6u);
  send_over(yield, kFull, 200'000);
  EXPECT_EQ(yield.window(), 6u);
}

TEST(Yield, WithoutSeekingTheFullWindowStays) {
  Yield yield = full_yield();
  overflow(yield);
  EXPECT_EQ(yield.full(), kFull);
}

TEST(Yield, LossesOfOneFullQueueCutOnce) {
  Yield yield = full_yield();
  yield.lost();
  for (std::uint64_t i = 0; i < kCyclePackets; ++i) {
    yield.lost();
    yield.sent();
  }
  EXPECT_EQ(yield.window(), kFull / 2);
  EXPECT_TRUE(yield.lost());
  EXPECT_EQ(yield.window(), kFull / 4);
}

TEST(Yield, NeverGoesBelowOnePacket) {
  Yield yield = full_yield();
  for (int i = 0; i < 20; ++i) {
    yield.lost();
    send(yield, kCyclePackets);
  }
  EXPECT_EQ(yield.window(), 1u);
  EXPECT_FALSE(yield.lost());
}

// What is known to be no queue of others is not yielded to beyond that.
TEST(Yield, IsNotCutBelowWhatIsAllowed) {
  Yield yield = full_yield();
  yield.lost(12);
  EXPECT_TRUE(yield.lost(12));
  EXPECT_EQ(yield.window(), 12u);
  send(yield, kCyclePackets);
  EXPECT_FALSE(yield.lost(12));
  EXPECT_EQ(yield.window(), 12u);
  EXPECT_TRUE(yield.lost(1));
  EXPECT_EQ(yield.window(), 6u);
}

TEST(Yield, LossesThatMayNotCutDoNotKeepTheWindowSmall) {
  Yield yield = full_yield();
  yield.lost(12);
  yield.lost(12);
  for (std::uint64_t i = 0; i < 130 * kCyclePackets; ++i) {
    if (i % 50 == 0) yield.lost(12);
    yield.sent();
  }
  EXPECT_EQ(yield.window(), 14u);
}

TEST(Yield, OpensByAnEighthPerQuietSpan) {
  Yield yield = full_yield();
  yield.lost();
  yield.lost();
  send(yield, kCyclePackets);  // in which no further loss counts
  send(yield, 128 * kCyclePackets - 1);
  EXPECT_EQ(yield.window(), 8u);
  yield.sent();
  EXPECT_EQ(yield.window(), 10u);
  send(yield, 3 * 128 * kCyclePackets);
  EXPECT_EQ(yield.window(), kFull);
  EXPECT_FALSE(yield.yielding());
}

TEST(Yield, EveryLossBeginsTheQuietSpanAnew) {
  Yield yield = full_yield();
  yield.lost();
  yield.lost();
  for (int i = 0; i < 10; ++i) {
    send(yield, 127 * kCyclePackets);
    yield.lost();
  }
  EXPECT_EQ(yield.window(), 8u);
}

TEST(Yield, HoldsFromExchangeToExchangeUntilForgotten) {
  Yield yield = full_yield();
  yield.lost();
  yield.lost();
  yield.begin(kFull, kCyclePackets);
  EXPECT_EQ(yield.window(), kFull / 2);
  yield.begin(4, kCyclePackets);  // one with a smaller window
  EXPECT_EQ(yield.window(), 4u);
  yield.forget();
  yield.begin(kFull, kCyclePackets);
  EXPECT_EQ(yield.window(), kFull);
}

}  // namespace
}  // namespace alm::clocks

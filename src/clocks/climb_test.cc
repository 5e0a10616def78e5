#include "clocks/climb.h"

#include <gtest/gtest.h>

namespace alm::clocks {
namespace {

constexpr std::uint32_t kMost = 1024;
constexpr std::uint64_t kPackets = 1000;

// Exchanges whose packets take `each(window)` ns.
class ClimbTest : public testing::Test {
 protected:
  void exchange(base::Nanos each, bool lossy = false, std::uint64_t packets = kPackets) {
    const auto took = each * static_cast<base::Nanos>(packets);
    const auto next = climb_.end({.number = number_++,
                                  .took = took,
                                  .packets = packets,
                                  .window = window_,
                                  .most = kMost,
                                  .lossy = lossy});
    if (next) window_ = *next;
  }
  // Ranks take 8000 ns to answer a window.
  void exchanges_of_slow_hosts(int count) {
    for (int i = 0; i < count; ++i) exchange(8000 / window_);
  }

  Climb climb_;
  std::uint32_t window_ = 4;
  std::uint64_t number_ = 0;
};

TEST_F(ClimbTest, DoublesTheWindowAsLongAsThatMakesExchangesFaster) {
  exchanges_of_slow_hosts(1);
  EXPECT_EQ(window_, 4u) << "the first exchange of a job says nothing";
  for (const std::uint32_t window : {8, 16, 32}) {
    exchanges_of_slow_hosts(1);
    EXPECT_EQ(window_, window);
  }
  EXPECT_EQ(climb_.train(window_, 1, 16), 8u);
  EXPECT_EQ(climb_.train(window_, 1, 4), 4u);
}

TEST_F(ClimbTest, GoesBackAfterThreeExchangesThatAreNoFaster) {
  for (int i = 0; i < 4; ++i) exchange(100);
  EXPECT_EQ(window_, 8u);
  EXPECT_TRUE(climb_.attempts());
  exchange(100);
  EXPECT_EQ(window_, 4u);
  EXPECT_FALSE(climb_.attempts());
  EXPECT_EQ(climb_.train(100, 2, 16), 2u);
  for (int i = 0; i < 11; ++i) exchange(100);
  EXPECT_EQ(window_, 4u);
  exchange(100);
  EXPECT_EQ(window_, 8u) << "the 16th exchange has come, and two have shown what they take";
}

TEST_F(ClimbTest, OneLateRankDoesNotEndAnAttempt) {
  exchange(100);
  exchange(100);
  EXPECT_EQ(window_, 8u);
  exchange(900);
  exchange(50);
  EXPECT_EQ(window_, 16u);
}

TEST_F(ClimbTest, AnAttemptThatLosesPacketsHasFailed) {
  exchanges_of_slow_hosts(3);
  EXPECT_EQ(window_, 16u);
  exchange(1, true);
  EXPECT_EQ(window_, 8u);
  EXPECT_FALSE(climb_.attempts());
}

TEST_F(ClimbTest, NoLargerWindowIsAttemptedWhereLinksAreBusy) {
  climb_ = Climb(100);
  for (int i = 0; i < 10; ++i) exchange(199);
  EXPECT_EQ(window_, 4u);
  exchange(200);
  EXPECT_EQ(window_, 8u);
}

TEST_F(ClimbTest, ExchangesOfOtherSizesAreNotComparedWithIt) {
  exchange(100);
  exchange(100);
  EXPECT_EQ(window_, 8u);
  for (int i = 0; i < 2; ++i) exchange(10, false, 2 * kPackets);
  EXPECT_EQ(window_, 8u);
  exchange(50);
  EXPECT_EQ(window_, 16u);
  for (int i = 0; i < 3; ++i) exchange(10, false, 2 * kPackets);
  EXPECT_EQ(window_, 8u) << "nothing shows what the attempt was worth";
}

TEST_F(ClimbTest, AnExchangeOfFewPacketsNeedsNoLargerWindow) {
  for (int i = 0; i < 10; ++i) exchange(100, false, 15);
  EXPECT_EQ(window_, 4u);
}

TEST_F(ClimbTest, TheWindowIsNeverMoreThanItMayBe) {
  for (int i = 0; i < 40; ++i) exchange(1'000'000 / window_, false, 100 * kPackets);
  EXPECT_EQ(window_, kMost);
}

}  // namespace
}  // namespace alm::clocks

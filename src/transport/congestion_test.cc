#include "transport/congestion.h"

#include <gtest/gtest.h>

namespace alm::transport {
namespace {

constexpr base::Nanos kAlone = 1000;
constexpr std::uint32_t kWindow = 16;
constexpr std::uint64_t kCycle = 31;

class CongestionTest : public testing::Test {
 protected:
  static Congestion make(bool yields = true) {
    Config config;
    config.window_packets = kWindow;
    config.limit_time = kAlone;
    config.latency = 4 * kAlone;
    config.yields = yields;
    Congestion made(config);
    made.begin(0, kWindow, kCycle, 1);
    return made;
  }
  void send(Congestion& congestion, int packets, base::Nanos spacing) {
    for (int i = 0; i < packets; ++i) congestion.sent(now_ += spacing, 1, next_++, {});
  }
  base::Nanos now_ = 0;
  std::uint32_t next_ = 0;
};

TEST_F(CongestionTest, LossesAtMuchLessThanFullSpeedCutTheWindow) {
  Congestion congestion = make();
  send(congestion, 1000, 2 * kAlone);
  EXPECT_FALSE(congestion.lost(now_, true)) << "a single loss is forgiven";
  EXPECT_TRUE(congestion.lost(now_, true));
  EXPECT_EQ(congestion.window(), kWindow / 2);
  EXPECT_TRUE(congestion.yielding());
}

TEST_F(CongestionTest, LossesAtFullSpeedCutItNoFurtherThanLinksStayBusy) {
  Congestion congestion = make();
  for (int i = 0; i < 10; ++i) {
    send(congestion, 200, kAlone);
    congestion.lost(now_, true);
  }
  EXPECT_EQ(congestion.window(), 6u) << "one and a half of the four packets on the way";
}

// A rank that waits for what was lost is slow, too.
TEST_F(CongestionTest, LossesWhileAnswersComeSoonCutItNoFurtherEither) {
  Congestion congestion = make();
  for (int i = 0; i < 3; ++i) congestion.answered(kWindow * kAlone);
  for (int i = 0; i < 10; ++i) {
    send(congestion, 200, 2 * kAlone);
    congestion.lost(now_, true);
  }
  EXPECT_EQ(congestion.window(), 6u);
  EXPECT_TRUE(congestion.yielding());
  for (int i = 0; i < 3; ++i) congestion.answered(2 * kWindow * kAlone);
  send(congestion, 200, 2 * kAlone);
  congestion.lost(now_, true);
  send(congestion, 200, 2 * kAlone);
  congestion.lost(now_, true);
  EXPECT_EQ(congestion.window(), 3u);
}

TEST_F(CongestionTest, AnExchangeOfFewPacketsShowsItsSpeedToo) {
  Config config;
  config.window_packets = 800;
  config.limit_time = kAlone;
  config.latency = 798 * kAlone;
  Congestion congestion(config);
  congestion.begin(0, 800, kCycle, 1);
  send(congestion, 1200, kAlone);  // half of what tells it of a long one
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(congestion.lost(now_, true));
  congestion.begin(now_, 800, kCycle, 1);
  send(congestion, 1200, 2 * kAlone);
  congestion.lost(now_, true);
  EXPECT_TRUE(congestion.lost(now_, true)) << "others have half of the link";
}

// Hosts take 8 us to answer a window, whatever its packets take on links.
class SlowHostsTest : public CongestionTest {
 protected:
  SlowHostsTest() {
    config_.window_packets = 1024;
    config_.seeks_from = 4;
    config_.climbs = true;
    config_.timer_least = 8000;
    config_.train_packets_max = 16;
  }
  void exchange(Congestion& congestion, bool counts = true) {
    congestion.begin(now_, 1024, kCycle, 1);
    const std::uint32_t window = congestion.window();
    for (int i = 0; i < 4096; ++i) {
      if (i % window == 0) now_ += 8000;
      congestion.sent(now_, 1, next_++, {});
    }
    congestion.end(now_, {8000, 8000}, counts ? std::optional(number_) : std::nullopt);
    ++number_;
  }
  Config config_;
  std::uint64_t number_ = 0;
};

TEST_F(SlowHostsTest, WindowsGrowWithTrainsOfAQuarter) {
  Congestion congestion(config_);
  EXPECT_EQ(congestion.begin_trains(1), 1u);
  for (int i = 0; i < 3; ++i) exchange(congestion);
  EXPECT_EQ(congestion.window(), 16u);
  EXPECT_EQ(congestion.begin_trains(1), 4u);
  for (int i = 0; i < 10; ++i) exchange(congestion);
  EXPECT_EQ(congestion.window(), 1024u);
  EXPECT_EQ(congestion.begin_trains(1), 16u);
}

// A file that they hold for true no longer.
TEST_F(SlowHostsTest, RanksThatBeginToSeekOneAfterTheOtherAttemptTheSame) {
  std::vector<std::vector<std::uint32_t>> windows;
  for (const std::uint64_t first : {5, 6}) {
    Congestion congestion(config_, first);
    auto& of_rank = windows.emplace_back();
    for (number_ = first; number_ < 16;) {
      exchange(congestion);
      if (number_ > 6) of_rank.push_back(congestion.window());
    }
  }
  EXPECT_EQ(windows[0], windows[1]);
  EXPECT_GT(windows[0].back(), 16u);
}

TEST_F(SlowHostsTest, LinksThatTakeLongerThanRanksNeedToWakeAreTheLimit) {
  config_.link_time = config_.timer_least / 2;
  Congestion congestion(config_);
  for (int i = 0; i < 10; ++i) exchange(congestion);
  EXPECT_EQ(congestion.window(), 4u);
}

TEST_F(SlowHostsTest, ExchangesOfUnequalRanksShowNothing) {
  Congestion congestion(config_);
  for (int i = 0; i < 10; ++i) exchange(congestion, false);
  EXPECT_EQ(congestion.window(), 4u);
}

TEST_F(SlowHostsTest, AWindowThatLossesHaveCutIsNotDoubledAgain) {
  Congestion congestion(config_);
  for (int i = 0; i < 3; ++i) exchange(congestion);
  congestion.saw_loss();
  congestion.lost(now_, false);
  EXPECT_TRUE(congestion.lost(now_, false));
  exchange(congestion);
  for (int i = 0; i < 200; ++i) exchange(congestion);
  EXPECT_LE(congestion.window(), 16u);
}

TEST_F(SlowHostsTest, WhatLossesMadeOfAnAttemptStays) {
  Congestion congestion(config_);
  for (int i = 0; i < 5; ++i) exchange(congestion);
  ASSERT_EQ(congestion.window(), 64u);
  congestion.begin(now_, 1024, kCycle, 1);
  congestion.saw_loss();
  for (int i = 0; i < 4096; ++i) {
    congestion.sent(now_ += 100, 1, next_++, {});
    if (i % 16 == 0) congestion.lost(now_, true);
  }
  const std::uint32_t left = congestion.window();
  EXPECT_LT(left, 16u);
  congestion.end(now_, {}, number_);
  EXPECT_EQ(congestion.window(), left);
}

TEST_F(CongestionTest, YieldsOnlyWhereItIsTo) {
  Congestion congestion = make(false);
  send(congestion, 1000, 2 * kAlone);
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(congestion.lost(now_, true));
  EXPECT_EQ(congestion.window(), kWindow);
}

TEST_F(CongestionTest, KnowsWhetherThisExchangeAndTheOneBeforeLost) {
  Congestion congestion = make();
  send(congestion, 1000, kAlone);
  congestion.saw_loss();
  congestion.end(now_, {});
  EXPECT_TRUE(congestion.lossy());
  EXPECT_TRUE(congestion.loses_alone()) << "it had its full speed";
  congestion.begin(0, kWindow, kCycle, 1);
  EXPECT_FALSE(congestion.lossy());
  EXPECT_TRUE(congestion.was_lossy());
}

TEST_F(CongestionTest, AWindowThatYieldsStaysForTheNextExchange) {
  Congestion congestion = make();
  send(congestion, 1000, 2 * kAlone);
  congestion.lost(now_, true);
  congestion.lost(now_, true);
  congestion.begin(0, kWindow, kCycle, 1);
  EXPECT_EQ(congestion.window(), kWindow / 2);
  congestion.forget();
  congestion.begin(0, kWindow, kCycle, 1);
  EXPECT_EQ(congestion.window(), kWindow);
}

TEST_F(CongestionTest, LossesOfSinglePacketsDoNotCutTheWindowOfLongBlocks) {
  Congestion congestion = make();
  congestion.begin(0, 2, kCycle, 1, true);
  send(congestion, 1000, 2 * kAlone);
  congestion.lost(now_, true);
  EXPECT_TRUE(congestion.lost(now_, true));
  EXPECT_EQ(congestion.window(), 1u);
  congestion.begin(now_, kWindow, kCycle, 1);
  EXPECT_EQ(congestion.window(), kWindow);
  congestion.begin(now_, 2, kCycle, 1, true);
  EXPECT_EQ(congestion.window(), 1u);
}

}  // namespace
}  // namespace alm::transport

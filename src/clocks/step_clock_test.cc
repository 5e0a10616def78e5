#include "clocks/step_clock.h"

#include <gtest/gtest.h>

namespace alm::clocks {
namespace {

constexpr base::Nanos kPacket = 1000 * base::kMicrosecond;
constexpr std::uint32_t kWindow = 16;
constexpr base::Nanos kLead = kWindow * kPacket / 2;

class StepClockTest : public testing::Test {
 protected:
  StepClockTest() {
    rounds_.steps = 1000;
    rounds_.trains = {{1, 100, 0}, {2, 100, 500}};
    rounds_.arrivals = {{1, 2, 100}, {2, 1, 300}};
    clock_.begin(0, rounds_, 200);
  }
  bool allows(base::Nanos now, std::uint64_t step, std::uint64_t sent = 0,
              std::uint64_t unacknowledged = 0) {
    wait_until_ = base::kNever;
    return clock_.allows(now, step, {kWindow, 200 - sent, unacknowledged, passed_}, &wait_until_);
  }

  base::Rounds rounds_;
  StepClock clock_{kPacket, 0, std::nullopt};
  std::vector<std::size_t> passed_;
  base::Nanos wait_until_ = base::kNever;
};

TEST_F(StepClockTest, APacketLeavesInItsTimeLessAShortLead) {
  EXPECT_TRUE(allows(0, 8));
  EXPECT_FALSE(allows(0, 20));
  EXPECT_EQ(wait_until_, 20 * kPacket - kLead);
  EXPECT_TRUE(allows(20 * kPacket - kLead, 20));
}

TEST_F(StepClockTest, APacketLeavesAtOnceWhereOthersAreBeyondItsStep) {
  EXPECT_EQ(clock_.next_arrival_at(), 100 * kPacket);
  clock_.came();
  EXPECT_TRUE(allows(0, 100));
  EXPECT_FALSE(allows(0, 101));
  clock_.came();
  EXPECT_TRUE(allows(0, 101));
  EXPECT_EQ(clock_.next_arrival_at(), 300 * kPacket);
  clock_.came();
  EXPECT_TRUE(allows(0, 300));
  clock_.came_at(7);
  EXPECT_EQ(clock_.next_arrival_at(), 7) << "nothing more is to come";
}

TEST_F(StepClockTest, NobodyRunsFarAheadOfWhatIsKnownToHaveCome) {
  const base::Nanos late = 2000 * kPacket;
  EXPECT_TRUE(allows(late, 127, 100, 100));
  EXPECT_FALSE(allows(late, 128, 100, 100));
  EXPECT_EQ(wait_until_, base::kNever) << "not its time is missing";
  EXPECT_TRUE(allows(late, 500, 100, 0)) << "nothing is outstanding";
  EXPECT_TRUE(allows(late, 177, 100, 50)) << "50 have been delivered";
  EXPECT_FALSE(allows(late, 178, 100, 50));
  EXPECT_TRUE(clock_.runs_ahead(64, kWindow));
  EXPECT_FALSE(clock_.runs_ahead(63, kWindow));
}

TEST_F(StepClockTest, TrainsThatWerePassedOverAreNotDelivered) {
  passed_ = {0};
  EXPECT_TRUE(allows(2000 * kPacket, 627, 100, 99)) << "one of the second train has come";
  EXPECT_FALSE(allows(2000 * kPacket, 629, 100, 99));
}

TEST_F(StepClockTest, WhoFallsBehindMovesTheTimes) {
  clock_.sent(50 * kPacket, 20, kWindow);
  EXPECT_EQ(clock_.last_step(), 20u);
  EXPECT_FALSE(allows(0, 60));
  EXPECT_GT(wait_until_, 60 * kPacket - kLead + 25 * kPacket);
  EXPECT_LT(wait_until_, 60 * kPacket - kLead + 30 * kPacket);
}

TEST_F(StepClockTest, WhatIsSentAgainTakesTimeFromWhatFollows) {
  clock_.resent();  // 1000 steps for 200 packets: one in five
  EXPECT_FALSE(allows(0, 20));
  EXPECT_EQ(wait_until_, 25 * kPacket - kLead);
}

TEST_F(StepClockTest, ALateTrainTakesStepsThatWouldBeIdle) {
  clock_.sent(0, 10, kWindow);
  EXPECT_EQ(clock_.idle_step(0, 500), 11u);
  EXPECT_EQ(clock_.idle_step(200 * kPacket, 500), 200u);
  EXPECT_EQ(clock_.idle_step(900 * kPacket, 500), 500u) << "that of what follows";
  clock_.late_sent(500, 500);
  EXPECT_FALSE(allows(0, 20));
  EXPECT_EQ(wait_until_, 21 * kPacket - kLead);
}

}  // namespace
}  // namespace alm::clocks

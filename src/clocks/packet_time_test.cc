#include "clocks/packet_time.h"

#include <gtest/gtest.h>

namespace alm::clocks {
namespace {

constexpr base::Nanos kGuessedTime = 12'000;

TEST(PacketTime, TheClusterFilesStays) {
  PacketTime time(120'000, true);
  time.exchanged(1'000'000, 1000, 1.0);
  EXPECT_EQ(time.of_full_frame(), 120'000);
  EXPECT_TRUE(time.known());
}

TEST(PacketTime, AGuessHoldsUntilAnExchangeHasShownTheRate) {
  PacketTime time(kGuessedTime, false);
  EXPECT_FALSE(time.known());
  EXPECT_EQ(time.of_full_frame(), kGuessedTime);
  time.exchanged(1'200'000'000, 1000, 1.0);
  EXPECT_TRUE(time.known());
  EXPECT_EQ(time.of_full_frame(), 1'200'000);
}

// Ten packets are a few round trips; frames of a few bytes cost the hosts as much as full ones.
TEST(PacketTime, SmallExchangesShowNoRate) {
  PacketTime time(kGuessedTime, false);
  time.exchanged(10'000'000, 10, 1.0);
  time.exchanged(10'000'000, 1000, 0.1);
  EXPECT_FALSE(time.known());
}

TEST(PacketTime, HalfAFrameInHalfTheTimeIsTheSameRate) {
  PacketTime time(kGuessedTime, false);
  time.exchanged(60'000'000, 1000, 0.5);
  EXPECT_EQ(time.of_full_frame(), 120'000);
}

TEST(PacketTime, OneLateRankMovesItByAnEighthAndTheNextExchangeMovesItBack) {
  PacketTime time(kGuessedTime, false);
  time.exchanged(120'000'000, 1000, 1.0);
  time.exchanged(10'000'000'000, 1000, 1.0);
  EXPECT_EQ(time.of_full_frame(), 135'000);
  time.exchanged(120'000'000, 1000, 1.0);
  EXPECT_EQ(time.of_full_frame(), 120'000);
}

TEST(PacketTime, FollowsANetworkThatBecameSlower) {
  PacketTime time(kGuessedTime, false);
  time.exchanged(120'000'000, 1000, 1.0);
  for (int i = 0; i < 60; ++i) time.exchanged(240'000'000, 1000, 1.0);
  EXPECT_NEAR(static_cast<double>(time.of_full_frame()), 240e3, 1e3);
}

}  // namespace
}  // namespace alm::clocks

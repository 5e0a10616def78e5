#include "clocks/receive_clock.h"

#include <gtest/gtest.h>

namespace alm::clocks {
namespace {

TEST(ReceiveClock, WhatComesMakesRoomForWhatIsSent) {
  ReceiveClock clock;
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(clock.allows(4));
    clock.sent(4);
  }
  EXPECT_FALSE(clock.allows(4));
  clock.came(4, false);
  EXPECT_TRUE(clock.allows(4));
  EXPECT_EQ(clock.eta(), 3u);
}

TEST(ReceiveClock, GivesBackWhatWasBankedForEverySecondArrival) {
  ReceiveClock clock;
  for (int i = 0; i < 3; ++i) clock.came(4, false);
  EXPECT_EQ(clock.banked(), 3u);
  for (int i = 0; i < 4; ++i) clock.sent(4);
  clock.came(4, false);
  EXPECT_EQ(clock.eta(), 2u) << "one for the arrival, one from the bank";
  EXPECT_EQ(clock.banked(), 2u);
  clock.came(4, false);
  EXPECT_EQ(clock.eta(), 1u);
  EXPECT_EQ(clock.banked(), 2u);
}

TEST(ReceiveClock, BanksFourWindowsUnlessTheWindowYields) {
  ReceiveClock clock;
  for (int i = 0; i < 100; ++i) clock.came(2, false);
  EXPECT_EQ(clock.banked(), 8u);
  clock.begin();
  for (int i = 0; i < 100; ++i) clock.came(2, true);
  EXPECT_EQ(clock.banked(), 100u);
}

TEST(ReceiveClock, GivesBackAPacketBeyondAWindowOfOne) {
  ReceiveClock clock;
  clock.came(1, true);
  clock.sent(1);
  EXPECT_FALSE(clock.allows(1));
  clock.came(1, true);
  EXPECT_EQ(clock.banked(), 0u);
  clock.sent(1);
  EXPECT_TRUE(clock.allows(1)) << "the one from the bank";
  clock.sent(1);
  EXPECT_FALSE(clock.allows(1));
  EXPECT_EQ(clock.eta(), 1u);
}

}  // namespace
}  // namespace alm::clocks

#include "tuning/other_sizes.h"

#include <gtest/gtest.h>

namespace alm::tuning {
namespace {

constexpr base::Nanos kMs = base::kMillisecond;
constexpr base::Nanos kStall = 600 * kMs;

TEST(StallOf, GrowsWithThePacketsThatAreSentAtOnce) {
  EXPECT_EQ(stall_of(31, 0, 1), 0);
  EXPECT_EQ(stall_of(4, 1000, 1), 0);
  EXPECT_EQ(stall_of(16, 1000, 1), 150 * kMs);
  EXPECT_EQ(stall_of(16, 2000, 1), 300 * kMs);
  EXPECT_EQ(stall_of(31, 100'000, 1), kStall);
  EXPECT_EQ(stall_of(31, 100'000, 10), 10 * kStall);
}

TEST(OtherSizes, NothingIsHeardOfAWayThatWasNotSeen) {
  OtherSizes others(1000, kStall);
  others.add(100, 0, 5 * kMs);
  EXPECT_EQ(others.heard(), Heard{});
  EXPECT_FALSE(others.safe());
}

TEST(OtherSizes, TheNearestSizeTells) {
  OtherSizes others(1000, kStall);
  others.add(100, 20 * kMs, 10 * kMs);
  others.add(500, 9 * kMs, 10 * kMs);
  others.add(8000, 40 * kMs, 10 * kMs);
  EXPECT_DOUBLE_EQ(others.heard().times, 0.9);
  EXPECT_TRUE(others.safe()) << "8,000 bytes did not wait";
}

TEST(OtherSizes, TimeOutsAreNoShorterWithLargerBlocks) {
  OtherSizes others(10'000, kStall);
  others.add(1000, 6000 * kMs, 33 * kMs);
  EXPECT_EQ(others.heard().least, 6000 * kMs);
  EXPECT_FALSE(others.safe());
}

TEST(OtherSizes, TimeOutsOfLargerBlocksTellNothing) {
  OtherSizes others(300, kStall);
  others.add(1000, 6000 * kMs, 33 * kMs);
  EXPECT_EQ(others.heard(), Heard{});
  EXPECT_FALSE(others.safe());
}

TEST(OtherSizes, LongCallsAreNoTimeOuts) {
  OtherSizes others(10'000, kStall);
  others.add(100'000, 2500 * kMs, 2000 * kMs);
  EXPECT_TRUE(others.safe());
  EXPECT_DOUBLE_EQ(others.heard().times, 1.25);
}

}  // namespace
}  // namespace alm::tuning

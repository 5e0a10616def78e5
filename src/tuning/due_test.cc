#include "tuning/due.h"

#include <gtest/gtest.h>

#include <vector>

namespace alm::tuning {
namespace {

constexpr std::uint32_t kRanks = 8;

// With which call it is due, at 100 Mbit/s.
int due_with(std::uint64_t bytes, double rate = 100, double slowed = 1) {
  Due due(rate, slowed);
  for (int call = 1; call <= 1000; ++call) {
    if (due.call(bytes * (kRanks - 1))) return call;
  }
  return 0;
}

TEST(Due, CallsOfAFewBytesShowItLate) {
  EXPECT_EQ(due_with(0), 1000);
  EXPECT_EQ(due_with(300), 57);  // 0.17 ms on the link and 0.01 for the call
}

TEST(Due, ALongCallShowsItAtOnce) {
  EXPECT_EQ(due_with(20'000), 1);  // 11 ms
  EXPECT_EQ(due_with(UINT64_MAX / kRanks), 1);
  EXPECT_GT(due_with(20'000, 10'000), 80);
}

TEST(Due, FixedTimesAreSlowedWithTheLinks) {
  EXPECT_EQ(due_with(300, 10, 10), due_with(300, 100, 1));
}

TEST(Due, RanksTellEachOtherTheirBytesEverMoreSeldom) {
  Due due(100, 1);
  std::vector<int> asked;
  for (int call = 1; call <= 100; ++call) {
    if (due.asks()) asked.push_back(call);
  }
  EXPECT_EQ(asked, (std::vector{1, 2, 4, 8, 16, 32, 64}));
}

TEST(Due, StaysDue) {
  Due due(100, 1);
  EXPECT_TRUE(due.call(700'000));
  EXPECT_TRUE(due.call(0));
}

}  // namespace
}  // namespace alm::tuning

#include "tuning/due.h"

#include <gtest/gtest.h>

#include <vector>

namespace alm::tuning {
namespace {

constexpr std::uint32_t kRanks = 8;

// With which call it is due, at 100 Mbit/s.
int due_with(std::uint64_t bytes, double rate = 100, double slowed = 1) {
  DueByBytes due(rate, slowed);
  for (int call = 1; call <= 1000; ++call) {
    due.call(bytes * (kRanks - 1));
    if (due.reached()) return call;
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
  DueByBytes due(100, 1);
  std::vector<int> asked;
  for (int call = 1; call <= 100; ++call) {
    if (due.asks()) asked.push_back(call);
  }
  EXPECT_EQ(asked, (std::vector{1, 2, 4, 8, 16, 32, 64}));
}

TEST(Due, StaysDue) {
  DueByBytes due(100, 1);
  due.call(700'000);
  EXPECT_TRUE(due.reached());
  due.call(0);
  EXPECT_TRUE(due.reached());
}

// With which call it is due, where every call and every comparison takes so long on all ranks.
int due_after(base::Nanos call_time, base::Nanos comparing) {
  DueByTime due = DueByTime::of_small_blocks(1);
  for (int call = 1; call <= 4096; ++call) {
    if (due.compares()) due.compared(due.figures(), comparing);
    if (due.reached()) return call;
    due.took(call == 1 ? base::kSecond : call_time);  // the first opens connections
  }
  return 0;
}

TEST(DueByTime, CallsHaveToCostWhatBringUpDoes) {
  // 40 ms and 12 times 10 us.
  EXPECT_EQ(due_after(20 * base::kMicrosecond, 10 * base::kMicrosecond), 2048);
  EXPECT_EQ(due_after(50 * base::kMicrosecond, 10 * base::kMicrosecond), 896);
  EXPECT_EQ(due_after(base::kMillisecond, 10 * base::kMicrosecond), 64);
  // 40 ms and 12 times 5 ms.
  EXPECT_EQ(due_after(5 * base::kMillisecond, 5 * base::kMillisecond), 32);
  EXPECT_EQ(due_after(base::kMicrosecond / 2, base::kMicrosecond), 0);
}

TEST(DueByTime, ShortLivedCommunicatorsCompareNothing) {
  DueByTime due = DueByTime::of_long_calls(1);
  std::vector<int> compared;
  for (int call = 1; call <= 300; ++call) {
    if (due.compares()) compared.push_back(call);
  }
  EXPECT_EQ(compared, (std::vector{8, 16, 32, 64, 128, 256}));
}

// As calls of few bytes may, on a network that congests.
TEST(DueByTime, ACallThatHasStalledMakesItDue) {
  for (const int stalls : {5, 12}) {
    DueByTime due = DueByTime::of_long_calls(1);
    int call = 1;
    for (; call <= 100; ++call) {
      if (due.compares()) due.compared(due.figures(), base::kMillisecond);
      if (due.reached()) break;
      due.took(call == stalls ? base::kSecond : base::kMillisecond);
    }
    EXPECT_EQ(call, stalls < 8 ? 8 : 16);
  }
}

TEST(DueByTime, WhereNobodyHasComparedCallsHaveToCostMore) {
  const auto due_with = [&](base::Nanos of_second) {
    DueByTime due = DueByTime::of_small_blocks(1);
    for (int call = 1; call <= 100; ++call) {
      if (due.compares()) due.compared(due.figures(), base::kMicrosecond);
      if (due.reached()) return call;
      due.took(call <= 2 ? of_second : 0);
    }
    return 0;
  };
  EXPECT_EQ(due_with(100 * base::kMillisecond), 4);
  EXPECT_EQ(due_with(30 * base::kMillisecond), 0);
}

TEST(DueByTime, CallsThatBecomeLongAreSeenSoon) {
  DueByTime due = DueByTime::of_small_blocks(1);
  int call = 0;
  const auto calls = [&](int count, base::Nanos time) {
    for (const int end = call + count; call < end && !due.reached(); ++call) {
      if (due.compares()) due.compared(due.figures(), 10 * base::kMicrosecond);
      due.took(time);
    }
  };
  calls(1030, 35 * base::kMicrosecond);
  EXPECT_FALSE(due.reached());
  calls(1000, 5 * base::kMillisecond);
  EXPECT_LE(call, 1030 + 128);
}

TEST(DueByTime, TheLeastOfAllRanksCounts) {
  DueByTime due = DueByTime::of_small_blocks(1);
  EXPECT_FALSE(due.compares());
  due.took(0);
  EXPECT_TRUE(due.compares());
  due.compared({0, 0}, base::kMillisecond);
  due.took(base::kSecond);  // this rank has waited for another
  DueByTime::Figures least = due.figures();
  EXPECT_EQ(least[0], static_cast<std::uint64_t>(base::kSecond));
  least[0] = base::kMillisecond;
  due.compared(least, base::kMillisecond);
  EXPECT_FALSE(due.reached());
}

TEST(DueByTime, LargeBlocksDoNotWait) {
  EXPECT_TRUE(DueByTime::waits_for(256));
  EXPECT_FALSE(DueByTime::waits_for(257));
}

}  // namespace
}  // namespace alm::tuning

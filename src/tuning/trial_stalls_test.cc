// Ways whose calls may wait for time-outs (trial.h).
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tuning/trial_test_calls.h"

namespace alm::tuning {
namespace {

// What a trial knows of six ways, four of them over TCP.
Trial over_tcp(base::Nanos stall) {
  Trial trial = six();
  for (const std::size_t way : {1, 3, 4, 5}) trial.expects(way, stall);
  return trial;
}

int first_call_of(Trial& trial, std::size_t way, const Times& times, int most) {
  for (int made = 0; made < most; ++made) {
    if (trial.way() == way) return made;
    call(trial, times);
  }
  return most;
}

TEST(TrialStalls, TheLibraryIsNotBegunBeforeTheCallsMadePayForIt) {
  Trial trial({Transport::kUdp, Transport::kMpi});
  trial.expects(1, 600 * kMs);
  const int made = first_call_of(trial, 1, {10 * kMs, 8 * kMs}, 10'000);
  EXPECT_GE(made, static_cast<int>(62 / TrialRules::kBudget));
  EXPECT_LT(made, 2000);
  calls(trial, 500, {10 * kMs, 8 * kMs});
  EXPECT_EQ(trial.way(), 1u);
}

TEST(TrialStalls, WithoutARiskItIsTheSecond) {
  Trial trial({Transport::kUdp, Transport::kMpi});
  trial.expects(1, 0);
  EXPECT_LE(first_call_of(trial, 1, {10 * kMs, 8 * kMs}, 100), 4);
}

TEST(TrialStalls, OneThatStallsIsCalledOnce) {
  Trial trial({Transport::kUdp, Transport::kMpi});
  trial.expects(1, 600 * kMs);
  const Times times = {30 * kMs, 6000 * kMs};
  const int made = first_call_of(trial, 1, times, 5000);
  EXPECT_LT(made, 5000);
  int stalled = 0;
  for (int i = 0; i < made; ++i) {
    stalled += trial.way() == 1 ? 1 : 0;
    call(trial, times);
  }
  EXPECT_EQ(stalled, 1);
}

TEST(TrialStalls, WhatOtherSizesHaveShownChangesThePrice) {
  Trial trial({Transport::kUdp, Transport::kMpi});
  trial.expects(1, 600 * kMs);
  const Times times = {10 * kMs, 8 * kMs};
  calls(trial, 50, times);
  ASSERT_EQ(trial.sightings(1), 0u);
  trial.expects(1, 0, {0.8, 0});
  EXPECT_LE(first_call_of(trial, 1, times, 200), 60);
  Trial other({Transport::kUdp, Transport::kMpi});
  other.expects(1, 600 * kMs);
  other.expects(1, 600 * kMs, {3, 6000 * kMs});
  EXPECT_GT(first_call_of(other, 1, times, 20'000), 10'000);
}

TEST(TrialStalls, WhereQueuesHoldItsPacketsTheLibraryIsTriedSoon) {
  Trial trial({Transport::kUdp, Transport::kMpi});
  trial.expects(1, 600 * kMs);
  const Times times = {10 * kMs, 8 * kMs};
  calls(trial, 18, times);
  ASSERT_EQ(trial.sightings(1), 0u);
  trial.expects(1, 600 * kMs, {.held = true});
  EXPECT_LE(first_call_of(trial, 1, times, 200), 16) << "after those planned already";
  calls(trial, 160, times);
  EXPECT_EQ(trial.way(), 1u);
}

// Whatever the ways take, and however often those over TCP stall.
TEST(TrialStalls, FiftyCallsTakeLittleLongerThanTheBestOverUdp) {
  std::mt19937 random(17);
  // What the model finds worth trying over UDP.
  std::uniform_real_distribution<double> slower(1, 1.5);
  double sum = 0;
  constexpr int kRounds = 2000;
  for (int round = 0; round < kRounds; ++round) {
    const base::Nanos ours = (1 + static_cast<base::Nanos>(random() % 300)) * kMs;
    Trial trial = over_tcp(600 * kMs);
    Times times = {ours};
    for (std::size_t way = 1; way < 6; ++way) {
      const bool stalls = way != 2;
      times.push_back(static_cast<base::Nanos>(slower(random) * static_cast<double>(ours)) +
                      (stalls ? static_cast<base::Nanos>(random() % 6000) * kMs : 0));
    }
    const auto total = static_cast<double>(calls(trial, 50, times));
    const double excess = total / (50 * static_cast<double>(ours)) - 1;
    EXPECT_LE(excess, 0.1) << "round " << round;
    sum += excess;
  }
  EXPECT_LE(sum / kRounds, 0.04);
}

// A way over TCP that is the best is found, and what that costs stays within the budget.
TEST(TrialStalls, AWayThatDoesNotStallIsFound) {
  std::mt19937 random(19);
  for (int round = 0; round < 500; ++round) {
    const base::Nanos ours = (5 + static_cast<base::Nanos>(random() % 50)) * kMs;
    Trial trial = over_tcp(600 * kMs);
    Times times(6, ours * 2);
    times[0] = ours;
    const std::size_t best = 1 + 2 * (random() % 2);
    times[best] = ours * 6 / 10;
    calls(trial, 20'000, times);
    EXPECT_EQ(trial.way(), best) << "round " << round;
  }
}

// Seen in a lucky moment, and then it waits in every call.
TEST(TrialStalls, AChosenWayThatBeginsToStallIsLeftAfterAFewCalls) {
  for (int begins = 0; begins < 40; ++begins) {
    Trial trial({Transport::kUdp, Transport::kMpi});
    const Times lucky = {100 * kMs, 50 * kMs};
    trial.expects(1, 600 * kMs);
    for (int i = 0; trial.chosen() != 1 || !trial.decided(); ++i) {
      ASSERT_LT(i, 1000);
      call(trial, lucky);
    }
    calls(trial, begins, lucky);
    int stalls = 0;
    for (int i = 0; i < 60; ++i) stalls += call(trial, {100 * kMs, 2300 * kMs}) > 1000 * kMs;
    EXPECT_LE(stalls, 8) << "from call " << begins;
    EXPECT_EQ(trial.way(), 0u);
  }
}

TEST(TrialStalls, AChosenWayThatStallsNowAndThenIsLeftAfterAFew) {
  for (const int every : {2, 3, 5, 7, 15}) {
    Trial trial({Transport::kUdp, Transport::kMpi});
    trial.expects(1, 6000 * kMs);
    while (trial.chosen() != 1 || !trial.decided()) call(trial, {18 * kMs, 12 * kMs});
    int stalls = 0;
    for (int i = 1; i <= 60; ++i) {
      const base::Nanos library = (i % every == 0 ? 2300 : 12) * kMs;
      stalls += call(trial, {18 * kMs, library}) > 1000 * kMs ? 1 : 0;
    }
    EXPECT_LE(stalls, 4) << "every " << every;
    EXPECT_EQ(trial.way(), 0u);
  }
}

TEST(TrialStalls, AChosenWayThatBecomesFasterOrVariesIsKept) {
  for (const base::Nanos usual : {22, 50, 250}) {
    for (const double factor : {0.6, 0.8, 1.0, 1.3}) {
      std::mt19937 random(7);
      Trial trial({Transport::kUdp, Transport::kMpi});
      trial.expects(1, 94 * kMs);
      const Times times = {usual * 16 * kMs / 10, usual * kMs};
      while (trial.chosen() != 1 || !trial.decided()) call(trial, times);
      for (int i = 0; i < 1000; ++i) {
        const double part = factor * (0.8 + 0.4 * static_cast<double>(random()) / 4294967296.0);
        call(trial, {times[0], static_cast<base::Nanos>(part * static_cast<double>(times[1]))});
      }
      EXPECT_EQ(trial.reopened(), 0u) << usual << " ms times " << factor;
      EXPECT_EQ(trial.chosen(), 1u);
    }
  }
}

TEST(TrialStalls, LateRanksMakeNoWayStall) {
  std::mt19937 random(7);
  Trial trial({Transport::kUdp, Transport::kMpi});
  trial.expects(1, 94 * kMs);
  int library = 0;
  for (int i = 0; i < 20000; ++i) {
    library += trial.way() == 1 ? 1 : 0;
    const base::Nanos late = random() % 50 == 0 ? 50 * kMs : 0;
    call(trial, {18 * kMs + late, 12 * kMs + late});
  }
  EXPECT_GT(library, 19000);
}

}  // namespace
}  // namespace alm::tuning

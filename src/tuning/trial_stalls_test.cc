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

}  // namespace
}  // namespace alm::tuning

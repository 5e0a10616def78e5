#include "clocks/answer_time.h"

#include <gtest/gtest.h>

namespace alm::clocks {
namespace {

using base::kMicrosecond;

constexpr base::Nanos kLeast = 50 * kMicrosecond;

TEST(AnswerTime, NothingIsKnownAtFirst) { EXPECT_FALSE(AnswerTime{}.known()); }

TEST(AnswerTime, TwoRoundTripsAreWaitedFor) {
  AnswerTime answers;
  answers.carried(80 * kMicrosecond);
  EXPECT_TRUE(answers.known());
  EXPECT_EQ(answers.patience(kLeast), 160 * kMicrosecond);
}

// The acknowledgement waited for data to carry it.
TEST(AnswerTime, WhatRidesOnDataMakesTheRoundTripShorterOnly) {
  AnswerTime answers;
  answers.carried(80 * kMicrosecond);
  answers.carried(3000 * kMicrosecond);
  EXPECT_EQ(answers.round_trip(), 80 * kMicrosecond);
  answers.carried(60 * kMicrosecond);
  EXPECT_EQ(answers.round_trip(), 60 * kMicrosecond);
}

TEST(AnswerTime, FollowsALongerRoundTripByTheAnswersThatLeaveAtOnce) {
  AnswerTime answers;
  answers.at_once(100 * kMicrosecond);
  for (int i = 0; i < 40; ++i) answers.at_once(500 * kMicrosecond);
  EXPECT_NEAR(static_cast<double>(answers.round_trip()), 500e3, 5e3);
  // It was late while the round trip was not known; now it is the round trip.
  EXPECT_LT(answers.patience(kLeast), 1200 * kMicrosecond);
}

// Where every other answer waits 2 ms for a processor, asking after two round trips is of no use.
TEST(AnswerTime, HostsThatAnswerLateAreGivenTime) {
  AnswerTime answers;
  for (int i = 0; i < 40; ++i) {
    answers.at_once(50 * kMicrosecond);
    answers.at_once(2000 * kMicrosecond);
  }
  EXPECT_GT(answers.patience(kLeast), 2000 * kMicrosecond);
}

TEST(AnswerTime, TimersDoNoBetter) {
  AnswerTime answers;
  answers.at_once(1);
  EXPECT_EQ(answers.patience(kLeast), kLeast);
}

}  // namespace
}  // namespace alm::clocks

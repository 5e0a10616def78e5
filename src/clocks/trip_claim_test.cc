#include "clocks/trip_claim.h"

#include <gtest/gtest.h>

namespace alm::clocks {
namespace {

constexpr base::Nanos kToldTrip = 1000, kFrame = 10, kWaking = 50;
constexpr std::uint64_t kSentByAll = 1000;
constexpr std::uint32_t kUnderWay = 100;
constexpr base::Nanos kBusyFor = kSentByAll * kFrame;  // the time of an exchange on busy links
constexpr base::Nanos kTold = kBusyFor + kSentByAll / kUnderWay * kToldTrip;  // with that window
constexpr base::Nanos kFar = 5000;

TripClaim claim() { return {kToldTrip, kFrame, kWaking}; }
// An exchange that leaves links idle. `farthest`: by acknowledgements; `answered`: by answers.
void leaves_idle(TripClaim& told, std::uint32_t window, base::Nanos farthest,
                 base::Nanos answered) {
  const base::Nanos waits = static_cast<base::Nanos>(kSentByAll / window) * kToldTrip;
  told.exchanged(2 * (kBusyFor + waits), kSentByAll, window, {0, farthest, answered});
}

TEST(TripClaim, IdleLinksAndLongAnswersRefuteItTheSecondTime) {
  TripClaim told = claim();
  leaves_idle(told, kUnderWay, kFar, kFar);
  EXPECT_FALSE(told.refuted());
  leaves_idle(told, kUnderWay, kFar, kFar);
  EXPECT_TRUE(told.refuted());
}

TEST(TripClaim, AShorterAnswerBetweenThemRefutesNothing) {
  TripClaim told = claim();
  for (int i = 0; i < 10; ++i) {
    leaves_idle(told, kUnderWay, kFar, kFar);
    leaves_idle(told, kUnderWay, kFar, kToldTrip);
  }
  EXPECT_FALSE(told.refuted());
}

TEST(TripClaim, LateAcknowledgementsAskAFewTimesAndRefuteNothing) {
  TripClaim told = claim();
  EXPECT_FALSE(told.take_question());
  int asked = 0;
  for (int i = 0; i < 20; ++i) {
    leaves_idle(told, kUnderWay, kFar, kToldTrip);
    if (!told.take_question()) continue;
    ++asked;
    EXPECT_FALSE(told.take_question()) << "once after each";
  }
  EXPECT_EQ(asked, 8);
  EXPECT_FALSE(told.refuted());
}

TEST(TripClaim, WhatTakesAsLongAsTheFileSaysRefutesNothing) {
  TripClaim told = claim();
  for (int i = 0; i < 10; ++i) {
    told.exchanged(kTold + kTold / 4, kSentByAll, kUnderWay, {0, kFar, kFar});
  }
  EXPECT_FALSE(told.refuted());
  EXPECT_FALSE(told.take_question());
}

TEST(TripClaim, AnAnswerThatTheWindowsPacketsExplainRefutesNothing) {
  TripClaim told = claim();
  constexpr base::Nanos kQueued = kToldTrip + 2 * kUnderWay * kFrame + kWaking - 1;
  for (int i = 0; i < 10; ++i) {
    leaves_idle(told, kUnderWay, kQueued, kQueued);
    leaves_idle(told, 1, 2 * kToldTrip - 1, 2 * kToldTrip - 1);
    leaves_idle(told, 1, 0, 0);
  }
  EXPECT_FALSE(told.refuted());
  EXPECT_FALSE(told.take_question());
}

TEST(TripClaim, WhatFitsTheWindowRefutesNothing) {
  TripClaim told = claim();
  for (int i = 0; i < 10; ++i) told.exchanged(3 * kBusyFor, kUnderWay, kUnderWay, {0, kFar, kFar});
  EXPECT_FALSE(told.refuted());
}

TEST(TripClaim, WithoutAFileThereIsNothingToRefute) {
  TripClaim none;
  for (int i = 0; i < 10; ++i) leaves_idle(none, 1, kFar, kFar);
  EXPECT_FALSE(none.refuted());
}

}  // namespace
}  // namespace alm::clocks

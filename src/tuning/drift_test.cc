#include "tuning/drift.h"

#include <gtest/gtest.h>

namespace alm::tuning {
namespace {

TEST(Drift, SmoothsCallsAndCountsASlowOneForLittle) {
  Drift drift;
  drift.begin(10);
  drift.expect(100, true);
  EXPECT_EQ(drift.recent(), 0);
  drift.took(100);
  EXPECT_EQ(drift.recent(), 100);
  drift.took(1'000'000);
  EXPECT_EQ(drift.recent(), 100 + 300 / TrialRules::kSmoothing) << "as four usual ones";
  drift.forget();
  EXPECT_EQ(drift.recent(), 0);
}

TEST(Drift, LooksEverMoreSeldom) {
  Drift drift;
  drift.begin(10);
  EXPECT_FALSE(drift.to_look(73));
  EXPECT_TRUE(drift.to_look(74));
  drift.looked(74);
  EXPECT_FALSE(drift.to_look(265));
  EXPECT_TRUE(drift.to_look(266));
  drift.begin(266);
  EXPECT_TRUE(drift.to_look(330));
}

TEST(Drift, WhatAnEarlierJobChoseIsComparedAtOnceAndItsSlowCallsCountInFull) {
  Drift drift;
  drift.expect(100, true);
  drift.adopt(0);
  EXPECT_TRUE(drift.to_look(1));
  drift.took(1'000'000);
  EXPECT_EQ(drift.recent(), 1'000'000);
  EXPECT_TRUE(drift.compares_adopted());
  EXPECT_FALSE(drift.compares_adopted()) << "the first time alone";
  drift.keep_adopted();
  EXPECT_FALSE(drift.to_look(63));
  EXPECT_TRUE(drift.to_look(64));
}

TEST(Drift, TheSmoothedTimeCountsAfterAFewCalls) {
  Drift drift;
  drift.begin(10);
  EXPECT_FALSE(drift.counts(25));
  EXPECT_TRUE(drift.counts(26));
}

TEST(Drift, IsMuchLongerThanBefore) {
  EXPECT_FALSE(Drift::is_drift(0, 100)) << "nothing new";
  EXPECT_FALSE(Drift::is_drift(150, 100));
  EXPECT_TRUE(Drift::is_drift(151, 100));
}

}  // namespace
}  // namespace alm::tuning

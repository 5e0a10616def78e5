#include "clocks/rate_claim.h"

#include <gtest/gtest.h>

namespace alm::clocks {
namespace {

using Verdict = RateClaim::Verdict;

constexpr std::uint64_t kBytes = 1'000'000;

// What an exchange of this size takes at so many Mbit/s.
base::Nanos at(double mbit_s, std::uint64_t bytes = kBytes) {
  return static_cast<base::Nanos>(static_cast<double>(bytes) * 8e3 / mbit_s);
}

TEST(RateClaim, IsOpenUntilItHasBeenSeenTwice) {
  RateClaim claim(100);
  EXPECT_EQ(claim.verdict(), Verdict::kOpen);
  claim.exchanged(kBytes, kBytes, at(96));
  EXPECT_EQ(claim.verdict(), Verdict::kOpen);
  claim.exchanged(kBytes, kBytes, at(30));
  EXPECT_EQ(claim.verdict(), Verdict::kOpen);
  claim.exchanged(kBytes, kBytes, at(95));
  EXPECT_EQ(claim.verdict(), Verdict::kSeen);
}

TEST(RateClaim, ATenthOfTheTruthIsRefuted) {
  RateClaim claim(10);
  claim.exchanged(kBytes, kBytes, at(90));
  claim.exchanged(kBytes, kBytes, at(95));
  EXPECT_EQ(claim.verdict(), Verdict::kTooLow);
  EXPECT_TRUE(claim.refuted());
  EXPECT_NEAR(claim.received_mbit_s(), 95, 0.1);
}

// Of a link somewhere on the way: the one of this host may be as the file says.
TEST(RateClaim, CallsRefuteItToo) {
  RateClaim claim(100, 100);
  EXPECT_TRUE(claim.holds());
  claim.refute();
  EXPECT_TRUE(claim.refuted());
  EXPECT_FALSE(claim.holds() || claim.outrun());
  EXPECT_EQ(claim.verdict(), Verdict::kSeen);
  RateClaim none;
  none.refute();
  EXPECT_FALSE(none.refuted());
}

TEST(RateClaim, TenTimesTheTruthStaysOpen) {
  RateClaim claim(1000);
  for (int i = 0; i < 100; ++i) claim.exchanged(kBytes, kBytes, at(99));
  EXPECT_EQ(claim.verdict(), Verdict::kOpen);
}

TEST(RateClaim, PacingNeverFallsBelowWhatHasCome) {
  RateClaim claim(95);
  for (int i = 0; i < 3; ++i) claim.exchanged(kBytes, kBytes, at(99));
  EXPECT_EQ(claim.verdict(), Verdict::kSeen);
  EXPECT_NEAR(claim.mbit_s(), 99, 0.1);
  EXPECT_TRUE(claim.holds());
}

TEST(RateClaim, AFileThatIsALittleTooLowSetsNoTimes) {
  RateClaim claim(85);
  for (int i = 0; i < 3; ++i) claim.exchanged(kBytes, kBytes, at(99));
  EXPECT_EQ(claim.verdict(), Verdict::kSeen);
  EXPECT_FALSE(claim.holds());
}

// A rank that comes late finds what the windows of others let through.
TEST(RateClaim, WhatTheFirstWindowHoldsRefutesNothing) {
  RateClaim claim(100);
  for (int i = 0; i < 100; ++i) claim.exchanged(kBytes, 0, at(1000));
  EXPECT_NE(claim.verdict(), Verdict::kTooLow);
  EXPECT_FALSE(claim.refuted());
  RateClaim tiny(100);
  for (int i = 0; i < 100; ++i) tiny.exchanged(1000, 1000, at(100, 1000));
  EXPECT_EQ(tiny.verdict(), Verdict::kOpen);
}

TEST(RateClaim, TheInterfaceIsAsked) {
  EXPECT_EQ(RateClaim(100, 100).verdict(), Verdict::kSeen);
  EXPECT_EQ(RateClaim(100, 1000).verdict(), Verdict::kTooLow);
  EXPECT_EQ(RateClaim(1000, 100).verdict(), Verdict::kOpen);
  EXPECT_EQ(RateClaim(100, 0).verdict(), Verdict::kOpen);
}

// Hosts of 10 and 25 Gbit/s, and a true file: a sender keeps to what the slower ones take.
TEST(RateClaim, AFasterHostThanTheSlowestRefutesNothing) {
  RateClaim claim(10'000, 25'000, 25'000);
  EXPECT_EQ(claim.verdict(), Verdict::kSeen);
  for (int i = 0; i < 3; ++i) claim.exchanged(kBytes, kBytes, at(20'000));
  EXPECT_EQ(claim.verdict(), Verdict::kSeen);
  EXPECT_TRUE(claim.holds());
  EXPECT_EQ(claim.mbit_s(), 10'000);
  EXPECT_FALSE(claim.outrun());
  EXPECT_EQ(RateClaim(10'000, 100'000, 25'000).verdict(), Verdict::kTooLow);
}

TEST(RateClaim, WithoutAClaimThereIsNothingToRefute) {
  RateClaim claim;
  claim.exchanged(kBytes, kBytes, at(1e5));
  EXPECT_EQ(claim.verdict(), Verdict::kOpen);
}

}  // namespace
}  // namespace alm::clocks

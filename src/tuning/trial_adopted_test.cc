// Decisions of earlier jobs, right and wrong.
#include <gtest/gtest.h>

#include "tuning/trial_test_calls.h"

namespace alm::tuning {
namespace {

TEST(TrialAdopted, AWayTakenOverHasItsConnections) {
  Trial trial({Transport::kUdp, Transport::kMpi, Transport::kMpi});
  trial.opens(2, 3'000'000);
  trial.adopt(2, {130, 100, 70});
  calls(trial, 7, {130, 100, 200});
  EXPECT_EQ(trial.reopened(), 0u) << "seen again first";
  calls(trial, 9, {130, 100, 200});
  EXPECT_EQ(trial.reopened(), 1u);
  calls(trial, 400, {130, 100, 200});
  EXPECT_EQ(trial.way(), 1u);
  EXPECT_GT(trial.sightings(2), 1u);
}

// A process's first calls are cold: twice as long as usual they say nothing where calls are short.
TEST(TrialAdopted, ShortColdCallsDoNotOverturnWhatAnEarlierJobDecided) {
  Trial trial({Transport::kUdp, Transport::kMpi});
  trial.adopt(0, {2 * kMs, 5 * kMs});
  calls(trial, 3, {15 * kMs, 5 * kMs});
  calls(trial, 100, {2 * kMs, 5 * kMs});
  EXPECT_EQ(trial.reopened(), 0u);
  EXPECT_EQ(trial.way(), 0u);
}

// As a decision of another day or network would have it: our way took 10 ms then.
TEST(TrialAdopted, AWrongDecisionOfAnEarlierJobCostsTwoCalls) {
  Trial trial({Transport::kUdp, Transport::kMpi});
  trial.adopt(0, {10 * kMs, 900 * kMs});
  calls(trial, 2, {300 * kMs, 30 * kMs});
  EXPECT_EQ(trial.reopened(), 1u);
  calls(trial, 10, {300 * kMs, 30 * kMs});
  EXPECT_EQ(trial.way(), 1u);
}

// The library may stall: a decision that says the reverse of what is true must not begin with it.
TEST(TrialAdopted, ACallOfOursRefutesADecisionForALibraryThatMayStall) {
  const Times now = {70 * kMs, 2300 * kMs};
  for (const base::Nanos said : {2300 * kMs, base::Nanos{0}}) {  // 0: the other job saw one way
    Trial trial({Transport::kUdp, Transport::kMpi});
    trial.expects(1, 4600 * kMs);
    trial.adopt(1, {said, 80 * kMs});
    EXPECT_EQ(trial.way(), 0u);
    for (int i = 0; i < 50; ++i) {
      ASSERT_EQ(trial.way(), 0u) << "call " << i;
      call(trial, now);
    }
    EXPECT_EQ(trial.reopened(), 1u);
  }
}

TEST(TrialAdopted, OneStallRefutesADecisionThatACallOfOursHasVouchedFor) {
  Trial trial({Transport::kUdp, Transport::kMpi});
  trial.expects(1, 4600 * kMs);
  trial.adopt(1, {70 * kMs, 7 * kMs});
  EXPECT_EQ(calls(trial, 50, {75 * kMs, 2300 * kMs}), (49 * 75 + 2300) * kMs);
}

TEST(TrialAdopted, ACallOfOursVouchesForADecisionThatHolds) {
  Trial trial({Transport::kUdp, Transport::kMpi});
  trial.expects(1, 600 * kMs);
  trial.adopt(1, {70 * kMs, 40 * kMs});
  calls(trial, 2, {75 * kMs, 40 * kMs});
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(trial.way(), 1u) << "call " << i;
    call(trial, {75 * kMs, (i == 0 ? 360 : i == 1 ? 140 : 40) * kMs});  // the first is cold
  }
  EXPECT_EQ(trial.reopened(), 0u);
}

TEST(TrialAdopted, AWrongDecisionAboutShortCallsCostsAFewMore) {
  Trial trial({Transport::kUdp, Transport::kMpi});
  trial.adopt(0, {2 * kMs, 9 * kMs});
  calls(trial, 15, {10 * kMs, 4 * kMs});
  EXPECT_EQ(trial.reopened(), 1u);
  calls(trial, 10, {10 * kMs, 4 * kMs});
  EXPECT_EQ(trial.way(), 1u);
}

TEST(TrialAdopted, ARightDecisionOfAnEarlierJobIsComparedOnceAndKept) {
  Trial trial({Transport::kUdp, Transport::kMpi});
  trial.adopt(0, {30 * kMs, 300 * kMs});
  calls(trial, 5000, {33 * kMs, 300 * kMs});
  EXPECT_EQ(trial.reopened(), 0u);
  EXPECT_EQ(trial.sightings(1), 0u);
}

TEST(TrialAdopted, AJobOfFewCallsSeesNothingAnew) {
  for (const base::Nanos usual : {30 * kMs, 2 * kMs}) {
    Trial trial({Transport::kUdp, Transport::kMpi, Transport::kMpi});
    trial.adopt(0, {usual, 0, 2 * usual});
    calls(trial, 3, {5 * usual / 4, usual, usual});  // cold
    calls(trial, 60, {usual, usual, usual});
    for (const std::size_t way : {0, 1, 2}) EXPECT_EQ(trial.sightings(way), 0u);
  }
}

// Before the job has gone on with what is unseen the chosen way begins to stall; what was seen in
// runs meanwhile is not lost over it.
TEST(TrialAdopted, AWayLeftForStallsLeavesWhatWasSeen) {
  Trial trial({Transport::kUdp, Transport::kMpi, Transport::kMpi});
  trial.expects(1, 600 * kMs);
  trial.expects(2, 600 * kMs);
  trial.adopt(1, {10 * kMs, 5 * kMs, 0});
  calls(trial, 20, {10 * kMs, 5 * kMs, 900 * kMs});
  EXPECT_EQ(trial.way(), 1u);
  calls(trial, 400, {10 * kMs, 700 * kMs, 900 * kMs});
  EXPECT_EQ(trial.way(), 0u);
  EXPECT_GT(trial.sightings(0), 1u);
}

TEST(TrialAdopted, TheWayThatVouchesIsSeenAgain) {
  Trial trial({Transport::kUdp, Transport::kMpi});
  trial.expects(1, 600 * kMs);
  trial.adopt(1, {0, 70 * kMs});
  calls(trial, 2, {75 * kMs, 70 * kMs});  // cold
  EXPECT_EQ(trial.way(), 1u);
  calls(trial, 1000, {50 * kMs, 70 * kMs});
  EXPECT_EQ(trial.way(), 0u);
}

TEST(TrialAdopted, WhatAnEarlierJobCouldNotAffordIsTriedWhenCallsPayForIt) {
  Trial trial({Transport::kUdp, Transport::kMpi, Transport::kMpi});
  trial.adopt(0, {30 * kMs, 0, 60 * kMs});
  calls(trial, 60, {30 * kMs, 15 * kMs, 10 * kMs});
  EXPECT_EQ(trial.sightings(1), 0u) << "the job may end";
  calls(trial, 100, {30 * kMs, 15 * kMs, 10 * kMs});
  EXPECT_EQ(trial.way(), 1u);
  EXPECT_EQ(trial.sightings(2), 0u) << "what it has seen holds";
  EXPECT_EQ(trial.reopened(), 0u);
}

TEST(TrialAdopted, WhatIsTriedLaterIsPaidForByTheCallsMade) {
  Trial trial({Transport::kUdp, Transport::kMpi, Transport::kMpi, Transport::kMpi});
  trial.expects(3, 3000 * kMs);
  trial.adopt(0, {30 * kMs, 0, 0, 0});
  const Times now = {30 * kMs, 60 * kMs, 90 * kMs, 3000 * kMs};
  base::Nanos total = 0;
  for (int made = 1; made <= 2000; ++made) {
    total += call(trial, now);
    ASSERT_LE(static_cast<double>(total), (1.04 * made + 3) * 30 * kMs) << made;
  }
  EXPECT_EQ(trial.way(), 0u);
  EXPECT_GT(trial.sightings(1), 0u);
  EXPECT_GT(trial.sightings(2), 0u);
  EXPECT_EQ(trial.sightings(3), 0u);
}

TEST(TrialAdopted, AWayDecidedElsewhereThatCannotBeTakenIsNot) {
  Trial trial = six();
  trial.adopt(3, {120, 110, 0, 90, 0, 0});
  trial.rule_out(3);
  EXPECT_TRUE(trial.decided());
  EXPECT_EQ(trial.way(), 0u);
}

TEST(TrialAdopted, ADecisionFromElsewhereHoldsUntilItDrifts) {
  Trial trial = six();
  trial.adopt(3, {120, 110, 0, 90, 0, 0});
  EXPECT_TRUE(trial.decided());
  EXPECT_EQ(trial.way(), 3u);
  calls(trial, 64, {120, 110, 130, 90, 100, 100});
  EXPECT_EQ(trial.reopened(), 0u);
  calls(trial, 200, {120, 110, 130, 250, 100, 100});
  EXPECT_EQ(trial.reopened(), 1u);
  calls(trial, 400, {120, 110, 130, 250, 100, 100});
  EXPECT_EQ(trial.way(), 4u);
}

}  // namespace
}  // namespace alm::tuning

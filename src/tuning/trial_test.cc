#include "tuning/trial.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tuning/trial_test_calls.h"

namespace alm::tuning {
namespace {

TEST(Trial, BeginsWithOursAndTheLibrarysOwn) {
  Trial trial;
  EXPECT_FALSE(trial.decided());
  EXPECT_EQ(trial.way(), 0u);
  call(trial, {500 * kMs, 4 * kMs});  // not timed
  EXPECT_EQ(trial.way(), 0u);
  call(trial, {5 * kMs, 4 * kMs});
  EXPECT_EQ(trial.way(), 1u);
  call(trial, {5 * kMs, 30 * kMs});  // does not count
  EXPECT_EQ(trial.way(), 1u);
  call(trial, {5 * kMs, 4 * kMs});
  EXPECT_EQ(trial.time(0), 5 * kMs);
  EXPECT_EQ(trial.time(1), 4 * kMs);
}

TEST(Trial, ALimitThatIsForgottenRulesNothingOut) {
  Trial trial({Transport::kUdp, Transport::kUdp}, 10 * kMs);
  trial.needs(1, 30 * kMs);
  for (int i = 0; i < 3; ++i) call(trial, {12 * kMs, 5 * kMs});
  EXPECT_TRUE(trial.standings().cannot_win(1));
  trial.set_limit(std::nullopt);
  EXPECT_FALSE(trial.standings().cannot_win(1) || trial.standings().refutes_limit());
}

TEST(Trial, TakesTheFasterOfTwo) {
  Trial trial;
  EXPECT_LE(calls_until_decided(trial, {50, 40}), 100);
  EXPECT_EQ(trial.way(), 1u);
  EXPECT_EQ(trial.time(0), 50);
  EXPECT_EQ(trial.time(1), 40);
}

TEST(Trial, NothingToTryIsDecided) {
  Trial trial({Transport::kUdp});
  EXPECT_TRUE(trial.decided());
  calls(trial, 1000, {100});
  EXPECT_FALSE(trial.due());
}

TEST(Trial, KeepsOursUnlessAnotherIsClearlyFaster) {
  Trial trial;
  calls_until_decided(trial, {100, 98});
  EXPECT_EQ(trial.way(), 0u);
  Trial other = six();
  calls_until_decided(other, {100, 99, 99, 101, 98, 100});
  EXPECT_EQ(other.way(), 0u);
}

TEST(Trial, TheLibrarysOwnIsKeptUnlessMessagesAreClearlyFaster) {
  Trial trial = six();
  calls_until_decided(trial, {100, 90, 130, 89, 91, 92});
  EXPECT_EQ(trial.way(), 1u);
}

TEST(Trial, FindsTheBestWhereverItStands) {
  for (std::size_t best = 0; best < 6; ++best) {
    Times times = {100, 110, 120, 130, 140, 150};
    times[best] = 70;
    Trial trial = six();
    calls_until_decided(trial, times);
    EXPECT_EQ(trial.way(), best);
  }
}

TEST(Trial, ALateRankSpoilsNothing) {
  Trial trial;
  call(trial, {50 * kMs, 0});
  call(trial, {190 * kMs, 0});
  call(trial, {0, 90 * kMs});
  calls_until_decided(trial, {50 * kMs, 90 * kMs});
  EXPECT_EQ(trial.way(), 0u);
  EXPECT_EQ(trial.time(0), 50 * kMs);
}

TEST(Trial, ACallMayTakeLongOnce) {
  Trial trial;
  call(trial, {2 * kMs, 0});
  call(trial, {2 * kMs, 0});
  call(trial, {0, 7 * kMs});
  calls_until_decided(trial, {2 * kMs, 1 * kMs});
  EXPECT_EQ(trial.way(), 1u);
}

TEST(Trial, AWayThatStallsIsKnownByIt) {
  Trial trial;
  int turn = 0;
  for (int i = 0; i < 200; ++i) {
    const bool stalls = trial.way() == 1 && ++turn % 3 == 0;
    call(trial, {10 * kMs, stalls ? 210 * kMs : 9 * kMs});
  }
  EXPECT_EQ(trial.way(), 0u);
}

TEST(Trial, OneDearSightingIsEnoughForNow) {
  Trial trial;
  calls_until_decided(trial, {267 * kMs, 1380 * kMs});
  EXPECT_EQ(trial.way(), 0u);
  EXPECT_EQ(trial.sightings(1), 1u);
  EXPECT_TRUE(trial.postponed());
}

// As with MPICH over TCP, whose first call takes four to nine times as long as the next.
TEST(Trial, TheLibrarysFirstCallSaysNothing) {
  Trial trial;
  calls(trial, 2, {1100, 0});
  call(trial, {0, 14000});
  calls_until_decided(trial, {1100, 500});
  EXPECT_EQ(trial.way(), 1u);
}

TEST(Trial, NoWayIsLostByOneSpoiledSighting) {
  for (std::size_t way = 0; way < 6; ++way) {
    Trial trial = six();
    Times times = {100, 100, 100, 100, 100, 100};
    times[way] = 60;
    bool spoiled = false;
    for (int i = 0; i < 1000; ++i) {
      const bool first = trial.way() == way && trial.sightings(way) == 0 && i > 0 && !spoiled;
      Times now = times;
      if (first && (way != 1 || i > 2)) {
        now[way] = 900;
        spoiled = true;
      }
      call(trial, now);
    }
    EXPECT_TRUE(spoiled);
    EXPECT_EQ(trial.way(), way);
  }
}

TEST(Trial, OnlyTheCloseOnesAreSeenAgain) {
  Trial trial = six();
  calls(trial, 1000, {40 * kMs, 125 * kMs, 41 * kMs, 70 * kMs, 52 * kMs, 43 * kMs});
  EXPECT_TRUE(trial.decided());
  EXPECT_GE(trial.sightings(0), TrialRules::kSightings);
  EXPECT_EQ(trial.sightings(1), 2u);
  EXPECT_GE(trial.sightings(2), TrialRules::kSightings);
  EXPECT_EQ(trial.sightings(3), 3u);
  EXPECT_LE(trial.sightings(4), 6u);
  EXPECT_GE(trial.sightings(5), TrialRules::kSightings);
}

TEST(Trial, AsFastAsEachOtherIsEnough) {
  Trial trial({Transport::kUdp, Transport::kMpi, Transport::kMpi});
  calls(trial, 300, {40 * kMs, 41 * kMs, 80 * kMs});
  EXPECT_TRUE(trial.decided());
  EXPECT_LT(trial.sightings(0), 12u);
}

// What a way leaves behind slows down the next few calls of another.
TEST(Trial, ShortCallsAreSeenInRuns) {
  Trial trial;
  int in_a_row = 0;
  std::size_t last = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::size_t way = trial.way();
    in_a_row = way == last ? in_a_row + 1 : 0;
    last = way;
    const base::Nanos settled = way == 0 ? 2000 : 1600;
    call(trial, Times(2, in_a_row < 12 ? settled + 800 : settled));
  }
  EXPECT_EQ(trial.way(), 1u);
  EXPECT_EQ(trial.time(1), 1600);
}

// The best of a few sightings may be the best by luck.
TEST(Trial, ManySightingsAreNotUndoneByAFew) {
  Trial trial({Transport::kUdp, Transport::kMpi, Transport::kMpi});
  int lucky = 0;
  for (int i = 0; i < 3000; ++i) {
    const bool luck = trial.way() == 2 && trial.sightings(2) < 3;
    lucky += luck ? 1 : 0;
    call(trial, {200, 100, luck ? 80 : 130});
  }
  EXPECT_GT(lucky, 0);
  EXPECT_EQ(trial.way(), 1u);
}

// Times follow what the hosts do; those of ways that are out stay what they were.
TEST(Trial, HostsThatGrowSlowerRuleNobodyOut) {
  for (const base::Nanos unit : {1000L, 1'000'000L}) {
    for (int begin = 5; begin < 150; ++begin) {
      Trial trial({Transport::kUdp, Transport::kMpi, Transport::kMpi, Transport::kMpi});
      for (int i = 0; i < 2000; ++i) {
        Times times = {300, 100, 107, 126};
        for (base::Nanos& time : times) time *= unit * (i < begin ? 10 : 16) / 10;
        call(trial, times);
      }
      ASSERT_NE(trial.chosen(), 0u) << unit << ", slower from call " << begin;
    }
  }
}

// What has been timed before it shows that the next way cannot be called.
TEST(Trial, AWayThatCannotBeCalledInTheMiddleOfABatchIsPassedOver) {
  Trial trial({Transport::kUdp, Transport::kMpi, Transport::kMpi});
  call(trial, {100, 0, 0});
  call(trial, {100, 0, 0});
  ASSERT_EQ(trial.way(), 1u);
  ASSERT_FALSE(trial.due());
  trial.rule_out(1);
  EXPECT_NE(trial.way(), 1u);
  calls(trial, 50, {100, 0, 200});
  EXPECT_EQ(trial.chosen(), 0u);
}

TEST(Trial, AChosenWayOutlivesARankThatComesLateOnce) {
  for (int late = 0; late < 60; ++late) {
    Trial trial({Transport::kUdp, Transport::kMpi});
    trial.expects(1, 6000 * kMs);
    while (trial.chosen() != 1 || !trial.decided()) call(trial, {18 * kMs, 12 * kMs});
    for (int i = 0; i < 60; ++i) {
      const base::Nanos wait = i == late ? 5000 * kMs : 0;
      call(trial, {18 * kMs + wait, 12 * kMs + wait});
    }
    EXPECT_EQ(trial.reopened(), 0u) << "in call " << late;
  }
}

// A cluster file with a tenth of the true rate: a way that it paces takes what it says, always.
TEST(Trial, AWayPacedByTheFileIsHeldAgainstTheLibrary) {
  Trial trial(100 * kMs);
  trial.keep_to_rates();
  EXPECT_FALSE(trial.standings().at_limit());
  calls(trial, 20, {102 * kMs, 10 * kMs});
  EXPECT_EQ(trial.way(), 1u);
  EXPECT_TRUE(trial.standings().refutes_limit());
  EXPECT_GE(trial.sightings(1), 1u);
}

TEST(Trial, ARateThatIsRightIsNotRefuted) {
  Trial trial(100 * kMs);
  trial.keep_to_rates();
  calls(trial, 20, {102 * kMs, 140 * kMs});
  EXPECT_EQ(trial.way(), 0u);
  EXPECT_TRUE(trial.standings().at_limit());
  EXPECT_FALSE(trial.standings().refutes_limit());
  EXPECT_LE(trial.sightings(1), 2u);
}

// What reopens a trial is smoothed and cut short.
TEST(Trial, TheTimeThatReopensIsNoLastingSighting) {
  Trial trial({Transport::kUdp, Transport::kMpi});
  calls_until_decided(trial, {100 * kMs, 900 * kMs});
  ASSERT_EQ(trial.way(), 0u);
  calls(trial, 600, {1000 * kMs, 850 * kMs});
  EXPECT_GE(trial.reopened(), 1u);
  EXPECT_EQ(trial.way(), 1u);
}

// A turn that comes is not refused: that would begin the watch on drift anew, at this call.
TEST(Trial, OneLongCallIsNoDrift) {
  Trial trial;
  int since = 0;
  for (int i = 0; i < 5000; ++i) {
    since = trial.decided() ? since + 1 : 0;
    call(trial, {since % 40 == 39 ? Times{300, 140} : Times{100, 140}});
    trial.agreed(30);
  }
  EXPECT_EQ(trial.reopened(), 0u);
}

TEST(Trial, AgreesOnTheSlowestRank) {
  Trial trial;
  trial.took(1 * kMs);
  while (!trial.decided()) {
    trial.took(trial.way() == 0 ? 1 * kMs : 2 * kMs);
    if (!trial.due()) continue;
    Times slowest = trial.times();
    for (std::size_t i = 0; i + 3 < slowest.size(); ++i) {  // the calls
      slowest[i] = slowest[i] == 1 * kMs ? 4 * kMs : 3 * kMs;
    }
    trial.agree(slowest);
  }
  EXPECT_EQ(trial.way(), 1u);
}

// What ranks take differs; what they agree on does not, and so they stay together.
TEST(Trial, AllRanksDecideAlike) {
  std::mt19937 random(7);
  std::vector<Trial> ranks(5, six());
  for (int step = 0; step < 2000; ++step) {
    const std::size_t way = ranks.front().way();
    for (Trial& trial : ranks) {
      ASSERT_EQ(trial.way(), way);
      trial.took(1 + static_cast<base::Nanos>(random() % 1000) * (step > 1000 ? 9 : 1));
      ASSERT_EQ(trial.due(), ranks.front().due());
    }
    if (!ranks.front().due()) continue;
    const Times slowest = reduce(ranks);
    for (Trial& trial : ranks) {
      trial.agree(slowest);
      trial.agreed(1 + static_cast<base::Nanos>(random() % 1000));
    }
  }
  EXPECT_GE(ranks.front().reopened(), 1u);
}

TEST(Trial, DriftReopensIt) {
  Trial trial;
  calls_until_decided(trial, {100, 200});
  calls(trial, 64, {110, 200});
  EXPECT_EQ(trial.reopened(), 0u);
  // At call 256, or at the end of the run that is under way then.
  for (int i = 0; i < 256 && trial.reopened() == 0; ++i) call(trial, {300, 200});
  EXPECT_EQ(trial.reopened(), 1u);
  calls_until_decided(trial, {300, 200});
  EXPECT_EQ(trial.way(), 1u);
}

// A third of 13 calls in a row stall: smoothed, the time is half as long again, as with drift.
TEST(Trial, CallsThatStallAreNoDrift) {
  Trial trial;
  calls_until_decided(trial, {120 * kMs, 260 * kMs});
  ASSERT_EQ(trial.chosen(), 0u);
  for (int i = 0; i < 4000; ++i) {
    const bool stalls = i % 64 > 50 && i % 3 == 0;
    call(trial, {stalls ? 620 * kMs : 120 * kMs, 260 * kMs});
    ASSERT_EQ(trial.way(), 0u) << i;
  }
  EXPECT_EQ(trial.reopened(), 0u);
}

// The way chosen stalls in two calls of five, which eight calls without the slowest do not confirm.
TEST(Trial, WhatWasSeenIsNotForgottenOverADoubt) {
  Trial trial;
  for (int i = 0; i < 4; ++i) {
    call(trial, {16 * kMs, 25 * kMs});
    trial.agreed(40 * kMs);
  }
  const auto next = [&](int i) {
    const bool stalls = trial.decided() && i > 100 && i % 5 < 2;
    call(trial, {stalls ? 48 * kMs : 16 * kMs, 11 * kMs});
  };
  int i = 0;
  for (; trial.sightings(1) == 1 && i < 4000; ++i) next(i);
  ASSERT_GT(trial.sightings(1), 1u);
  for (const int seen = i; i < seen + 10; ++i) next(i);
  EXPECT_EQ(trial.reopened(), 0u);
  EXPECT_EQ(trial.chosen(), 1u);
}

// Its own next run may be far away, where agreeing is dear.
TEST(Trial, AWaySeenColdIsKnownByWhatItHasTakenSince) {
  Trial trial;
  for (int i = 0; i < 4; ++i) {
    call(trial, {16 * kMs, 25 * kMs});
    trial.agreed(60 * kMs);
  }
  ASSERT_TRUE(trial.postponed());
  calls(trial, 64, {9 * kMs, 13 * kMs});
  EXPECT_EQ(trial.time(0), 9 * kMs);
  EXPECT_TRUE(trial.postponed());
}

TEST(Trial, ReopenedItCountsNothingTwice) {
  Trial trial;
  calls_until_decided(trial, {100, 300});
  const double spent = trial.spent();
  EXPECT_GT(spent, 0);
  while (trial.reopened() == 0) call(trial, {200, 300});
  EXPECT_DOUBLE_EQ(trial.spent(), spent);
}

TEST(Trial, AWayThatCannotBeTakenIsLeftOut) {
  Trial trial = six();
  const Times times = {120, 110, 130, 90, 100, 100};
  int ruled_out = 0;
  for (int i = 0; i < 200; ++i) {
    while (trial.way() == 3 || trial.way() == 4) {
      trial.rule_out(trial.way());
      ++ruled_out;
    }
    call(trial, times);
  }
  EXPECT_EQ(ruled_out, 2);
  EXPECT_TRUE(trial.decided());
  EXPECT_EQ(trial.way(), 5u);
  EXPECT_EQ(trial.sightings(3), 0u);
}

TEST(Trial, WhatTakesNoLongerThanTheLinksNeedIsKeptAtOnce) {
  Trial trial(100 * kMs);
  EXPECT_EQ(calls_until_decided(trial, {104 * kMs, 90 * kMs}), 2);
  EXPECT_EQ(trial.way(), 0u);
  EXPECT_EQ(trial.sightings(1), 0u);
  EXPECT_TRUE(trial.standings().at_limit());
  EXPECT_FALSE(trial.postponed());
  calls(trial, 256, {160 * kMs, 120 * kMs});
  EXPECT_EQ(trial.reopened(), 1u);
  EXPECT_EQ(trial.way(), 1u);
}

TEST(Trial, GoesOnASlowNetworkAsAtFullSpeed) {
  Trial fast({Transport::kUdp, Transport::kMpi, Transport::kMpi}, 400 * kMs);
  Trial slow({Transport::kUdp, Transport::kMpi, Transport::kMpi}, 4000 * kMs, 10);
  for (int i = 0; i < 600; ++i) {
    ASSERT_EQ(fast.way(), slow.way()) << "call " << i;
    call(fast, {480 * kMs, 460 * kMs, 450 * kMs});
    call(slow, {4800 * kMs, 4600 * kMs, 4500 * kMs});
  }
}

TEST(Trial, AWayThatNeedsAsLongAsTheBestTakesIsNotTried) {
  Trial trial({Transport::kUdp, Transport::kMpi, Transport::kUdp, Transport::kMpi}, 2 * kMs);
  for (const std::size_t way : {2u, 3u}) trial.needs(way, 12 * kMs);
  calls(trial, 1000, {9 * kMs, 13 * kMs, 30 * kMs, 40 * kMs});
  EXPECT_FALSE(trial.postponed());
  EXPECT_TRUE(trial.standings().cannot_win(2) && trial.standings().cannot_win(3));
  EXPECT_EQ(trial.sightings(2) + trial.sightings(3), 0u);
  EXPECT_EQ(trial.chosen(), 0u);
  // The hosts take so much longer that they may be faster.
  for (int i = 0; i < 4000; ++i) call(trial, {60 * kMs, 70 * kMs, 30 * kMs, 40 * kMs});
  EXPECT_EQ(trial.chosen(), 2u);
}

TEST(Trial, WhatItNeedsIsNotBelievedOnceItHasTakenLess) {
  Trial trial({Transport::kUdp, Transport::kMpi, Transport::kMpi}, 2 * kMs);
  trial.needs(0, 12 * kMs);
  calls(trial, 400, {9 * kMs, 13 * kMs, 7 * kMs});
  EXPECT_EQ(trial.chosen(), 2u);
  EXPECT_FALSE(trial.standings().cannot_win(0));
}

TEST(Trial, ALimitThatIsUndercutCountsForNothing) {
  Trial trial(100 * kMs);
  calls_until_decided(trial, {50 * kMs, 40 * kMs});
  EXPECT_EQ(trial.way(), 1u);
  EXPECT_FALSE(trial.standings().at_limit());
}

TEST(Trial, LongCallsNearTheLimitAreNotPutAtRisk) {
  Trial near(1000 * kMs);
  calls(near, 35, {1100 * kMs, 1080 * kMs});
  EXPECT_EQ(near.sightings(1), 0u);
  EXPECT_TRUE(near.postponed());
  calls(near, 200, {1100 * kMs, 1060 * kMs});
  EXPECT_EQ(near.way(), 1u);
  Trial far(1000 * kMs);
  calls_until_decided(far, {2000 * kMs, 1080 * kMs});
  EXPECT_EQ(far.way(), 1u);
}

}  // namespace
}  // namespace alm::tuning

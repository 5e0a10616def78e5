#include "tuning/sightings.h"

#include <gtest/gtest.h>

namespace alm::tuning {
namespace {

double spent(const Sightings& seen, base::Nanos best = 100) {
  double spent = 0;
  seen.charge(best, &spent);
  return spent;
}

TEST(Sightings, TheTimeIsTheirMeanWithoutTheSlowest) {
  Sightings seen;
  seen.know(700);
  EXPECT_EQ(seen.time(), 700) << "from an earlier job";
  seen.add(100, false);
  EXPECT_EQ(seen.time(), 100);
  seen.add(120, false);
  seen.add(9000, false);
  EXPECT_EQ(seen.time(), 110);
  EXPECT_EQ(seen.count(), 3u);
}

TEST(Sightings, OnlyTheLatestRunCounts) {
  Sightings seen;
  seen.add(500, false);
  seen.add(100, true);
  seen.add(100, false);
  EXPECT_EQ(seen.time(), 100);
}

TEST(Sightings, FirstCallsAndLeadsAreNone) {
  Sightings seen;
  EXPECT_FALSE(seen.called());
  seen.add_lead(900);
  EXPECT_TRUE(seen.called());
  EXPECT_TRUE(seen.started());
  EXPECT_EQ(seen.first(), 900);
  seen.add(300, false);
  seen.add_lead(300);
  EXPECT_EQ(seen.first(), 900);
  EXPECT_EQ(seen.count(), 1u);
  EXPECT_DOUBLE_EQ(spent(seen), 4) << "the sighting and the call that led the next";
}

TEST(Sightings, TheVeryFirstCallIsNotTimed) {
  Sightings seen;
  seen.began(true);
  EXPECT_TRUE(seen.called());
  EXPECT_TRUE(seen.started());
  EXPECT_EQ(seen.first(), 0);
}

TEST(Sightings, TheFirstOneCostsWhatItTookAndLaterOnesWhatTheWayTakes) {
  Sightings seen;
  EXPECT_DOUBLE_EQ(spent(seen), 0);
  seen.add(1000, false);
  EXPECT_DOUBLE_EQ(spent(seen), 9);
  seen.add(200, false);
  EXPECT_DOUBLE_EQ(spent(seen), 10);
}

TEST(Sightings, ATrialBeginsAnewWithOneThatCountsWhileThereIsNoOther) {
  Sightings seen;
  seen.add(100, false);
  seen.reopen();
  EXPECT_TRUE(seen.none());
  EXPECT_EQ(seen.time(), 100);
  seen.reopen_with(300);
  EXPECT_EQ(seen.time(), 300);
  EXPECT_DOUBLE_EQ(spent(seen), 0) << "it was paid for before";
  seen.add(150, false);
  EXPECT_EQ(seen.time(), 150);
}

}  // namespace
}  // namespace alm::tuning

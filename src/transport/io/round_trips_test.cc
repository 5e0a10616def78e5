#include "transport/io/round_trips.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace alm::io {
namespace {

using Question = Echoes::Question;

constexpr Echoes::Manner kManner{.patience = 100, .limit = 2000};

TEST(Echoes, EveryOtherHostIsAskedAFewTimes) {
  Echoes echoes(5, 2, 0, kManner);
  std::multiset<std::uint32_t> asked;
  while (const auto question = echoes.next(0)) asked.insert(question->host);
  for (const std::uint32_t host : {0u, 1u, 3u, 4u}) EXPECT_EQ(asked.count(host), Echoes::kTries);
  EXPECT_EQ(asked.count(2), 0U);
}

TEST(Echoes, OfLessPatientAskersLessOften) {
  Echoes echoes(4, 1, 0, {.patience = 100, .tries = 2});
  std::uint32_t asked = 0;
  while (echoes.next(0)) ++asked;
  EXPECT_EQ(asked, 6U);
}

TEST(Echoes, NeighboursAskDifferentHostsFirst) {
  EXPECT_EQ(Echoes(5, 2, 0, kManner).next(0)->host, 3U);
  EXPECT_EQ(Echoes(5, 4, 0, kManner).next(0)->host, 0U);
}

TEST(Echoes, FewQuestionsAreUnderWayAtOnce) {
  Echoes echoes(1000, 0, 0, kManner);
  std::size_t under_way = 0;
  while (echoes.next(0)) ++under_way;
  EXPECT_EQ(under_way, kManner.under_way);
  echoes.answered({7, 0}, 10);
  EXPECT_TRUE(echoes.next(10));
  EXPECT_FALSE(echoes.next(10));
  EXPECT_EQ(echoes.deadline(), 100);
  EXPECT_TRUE(echoes.next(100));  // the others have had their time
}

TEST(Echoes, TheShortestRoundTripCounts) {
  Echoes echoes(2, 0, 0, kManner);
  while (echoes.next(0)) continue;
  echoes.answered({1, 0}, 30);
  echoes.answered({1, 1}, 20);
  EXPECT_FALSE(echoes.done(40));
  echoes.answered({1, 2}, 40);
  EXPECT_TRUE(echoes.done(40));
  EXPECT_THAT(echoes.least(), testing::ElementsAre(0, 20));
}

TEST(Echoes, WhoNeverAnswersIsNotWaitedForLong) {
  Echoes echoes(3, 0, 0, kManner);
  while (echoes.next(0)) continue;
  echoes.answered({1, 0}, 30);
  EXPECT_FALSE(echoes.done(99));
  EXPECT_FALSE(echoes.next(100));
  EXPECT_LE(echoes.deadline(), 100);
  EXPECT_TRUE(echoes.done(100));
  EXPECT_THAT(echoes.least(), testing::ElementsAre(0, 30, 0));
}

TEST(Echoes, AllIsOverAfterAWhile) {
  const Echoes echoes(1000, 0, 5, kManner);
  EXPECT_FALSE(echoes.done(5 + kManner.limit - 1));
  EXPECT_TRUE(echoes.done(5 + kManner.limit));
}

TEST(Echoes, TheFirstThatIsNotAnsweredMayEndIt) {
  Echoes::Manner manner = kManner;
  manner.ends_in_silence = true;
  manner.under_way = 1;
  Echoes echoes(5, 0, 0, manner);
  echoes.answered(*echoes.next(0), 30);
  EXPECT_TRUE(echoes.next(30));
  EXPECT_FALSE(echoes.next(129));
  EXPECT_FALSE(echoes.done(129));
  EXPECT_FALSE(echoes.next(130));
  EXPECT_TRUE(echoes.done(130));
}

// Over loopback, where the kernel refuses what is sent to a port without a listener.
TEST(RoundTrips, HostsAnswerWithoutAProcess) {
  std::vector<Address> hosts;
  for (const char* name : {"127.0.0.1", "127.0.0.2", "127.0.0.3"}) {
    hosts.push_back(make_address(name, 4711).value());
  }
  const auto found = measure_round_trips(
      hosts[1], hosts, 1,
      {.patience = base::kSecond, .limit = 20 * base::kSecond, .datagram_bytes = 512});
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found.value()[1], 0);
  for (const std::size_t host : {0u, 2u}) {
    EXPECT_GT(found.value()[host], 0);
    EXPECT_LT(found.value()[host], 100 * base::kMillisecond);
  }
}

}  // namespace
}  // namespace alm::io

#include "tuning/standings.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace alm::tuning {
namespace {

constexpr base::Nanos kLong = base::kSecond;  // no short call

// Three ways, the second one the library's own.
Standings three(base::Nanos limit = 0) {
  return {{Transport::kUdp, Transport::kMpi, Transport::kUdp}, limit};
}

void see(Standings& ways, std::size_t way, base::Nanos time, int times = 1) {
  for (int i = 0; i < times; ++i) ways[way].seen.add(time, false);
}

TEST(Standings, TheFastestIsAmongThoseSeenAndStillIn) {
  Standings ways = three();
  see(ways, 1, 3 * kLong);
  EXPECT_EQ(ways.fastest(), 1u);
  see(ways, 2, kLong);
  EXPECT_EQ(ways.fastest(), 2u);
  EXPECT_EQ(ways.least(), kLong);
  ways[2].out = true;
  EXPECT_EQ(ways.fastest(), 1u) << "the time of a way that is out is old";
}

TEST(Standings, ALongCallCloseToTheLimitEndsTheTrial) {
  Standings ways = three(kLong);
  see(ways, 0, kLong + kLong / 10);
  EXPECT_FALSE(ways.at_limit());
  see(ways, 2, kLong + kLong / 25);
  EXPECT_TRUE(ways.at_limit());
}

TEST(Standings, AShortCallIsSeenOftenBeforeItCountsAsAtTheLimit) {
  Standings ways = three(base::kMillisecond);
  see(ways, 0, base::kMillisecond, TrialRules::kOneByOne - 1);
  EXPECT_FALSE(ways.at_limit());
  see(ways, 0, base::kMillisecond);
  EXPECT_TRUE(ways.at_limit());
}

TEST(Standings, WaysThatKeepToTheRatesAreHeldAgainstTheLibrarysOwn) {
  Standings ways = three(kLong);
  ways.keep_to_rates();
  see(ways, 0, kLong);
  EXPECT_FALSE(ways.at_limit());
  see(ways, 1, 2 * kLong);
  EXPECT_TRUE(ways.at_limit());
}

TEST(Standings, ALimitThatACallUndercutsByAFifthIsWrong) {
  Standings ways = three(kLong);
  EXPECT_FALSE(ways.refutes_limit()) << "nothing has been seen";
  see(ways, 0, 9 * kLong / 10);
  EXPECT_FALSE(ways.refutes_limit());
  see(ways, 1, 7 * kLong / 10);
  EXPECT_TRUE(ways.refutes_limit());
}

TEST(Standings, AWayThatNeedsAsLongAsTheBestTakesCannotWin) {
  Standings ways = three(kLong);
  see(ways, 0, 2 * kLong);
  ways[2].least = 2 * kLong;
  EXPECT_TRUE(ways.cannot_win(2));
  EXPECT_FALSE(ways.cannot_win(0)) << "it is the best";
  EXPECT_FALSE(ways.contends(2));
  ways[2].least = kLong;
  EXPECT_FALSE(ways.cannot_win(2));
}

TEST(Standings, FewSightingsRuleOutOnlyWhatIsFarBehind) {
  Standings ways = three();
  see(ways, 0, kLong);
  see(ways, 1, kLong + kLong / 8);
  see(ways, 2, 100 * kLong);
  ways.drop();
  EXPECT_FALSE(ways[2].out) << "one call may take any time";
  for (const std::size_t way : {0, 1, 2}) see(ways, way, ways.time(way));
  ways.drop();
  EXPECT_FALSE(ways[1].out);
  EXPECT_TRUE(ways[2].out);
  for (const std::size_t way : {0, 1}) see(ways, way, ways.time(way), 14);
  ways.drop();
  EXPECT_TRUE(ways[1].out) << "seen so often, an eighth is far";
}

TEST(Standings, ContendersThatAreEquallyFastAreSettled) {
  Standings ways = three();
  for (const std::size_t way : {0, 1, 2}) see(ways, way, kLong, TrialRules::kSettled - 1);
  EXPECT_FALSE(ways.settled());
  for (const std::size_t way : {0, 1, 2}) see(ways, way, kLong);
  EXPECT_TRUE(ways.settled());
}

}  // namespace
}  // namespace alm::tuning

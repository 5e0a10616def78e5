#include "clocks/crowd.h"

#include <gtest/gtest.h>

namespace alm::clocks {
namespace {

constexpr base::Nanos kAlone = 1000;
constexpr std::uint64_t kCycle = 31;
constexpr std::uint32_t kBusy = 8;

Crowd begun() {
  Crowd crowd;
  crowd.begin(kAlone, kCycle);
  return crowd;
}

void send(Crowd& crowd, std::uint64_t packets) {
  for (std::uint64_t i = 0; i < packets; ++i) crowd.sent();
}

TEST(Crowd, EveryLossIsOneByOthersUntilTheSpeedIsKnown) {
  Crowd unknown;
  unknown.begin(0, kCycle);
  unknown.measured(kAlone, kBusy, kBusy);
  EXPECT_TRUE(unknown.crowded(0));
  EXPECT_TRUE(begun().crowded(0));
}

TEST(Crowd, NobodyIsThereAtTheSpeedThatTheLinksAllow) {
  Crowd crowd = begun();
  crowd.measured(kAlone * 13 / 10, kBusy, kBusy);
  EXPECT_FALSE(crowd.crowded(0));
}

TEST(Crowd, WhoIsSlowForFourCyclesSharesTheLink) {
  Crowd crowd = begun();
  crowd.measured(kAlone, kBusy, kBusy);
  send(crowd, 4 * kCycle);
  crowd.measured(2 * kAlone, kBusy, kBusy);
  EXPECT_FALSE(crowd.crowded(0));
  crowd.sent();
  EXPECT_TRUE(crowd.crowded(0));
}

// Four cycles at full speed say nothing of others, whether anybody has looked or not.
TEST(Crowd, ItIsSlownessThatTells) {
  Crowd crowd = begun();
  crowd.measured(kAlone, kBusy, kBusy);
  send(crowd, 100 * kCycle);
  EXPECT_FALSE(crowd.crowded(0));
}

TEST(Crowd, AWindowTooSmallForTheRoundTripSlowsDownByItself) {
  Crowd crowd = begun();
  crowd.measured(2 * kAlone, kBusy / 2, kBusy);
  EXPECT_FALSE(crowd.crowded(0));
  crowd.measured(4 * kAlone, kBusy / 2, kBusy);
  EXPECT_TRUE(crowd.crowded(0));
}

// Who waits for what was lost is slow, too, but its packets are soon there.
TEST(Crowd, NobodyIsThereWhereMostAnswersComeAsSoonAsAlone) {
  constexpr base::Nanos kOwnTrip = 40 * kAlone;
  Crowd crowd = begun();
  crowd.measured(2 * kAlone, kBusy, kBusy);
  crowd.answered(kOwnTrip);
  crowd.answered(kOwnTrip);
  EXPECT_TRUE(crowd.crowded(kOwnTrip)) << "too few answers";
  crowd.answered(kOwnTrip * 13 / 10);
  EXPECT_FALSE(crowd.crowded(kOwnTrip));
  crowd.answered(2 * kOwnTrip);
  EXPECT_FALSE(crowd.crowded(kOwnTrip)) << "one of three may be late";
  crowd.answered(2 * kOwnTrip);
  EXPECT_TRUE(crowd.crowded(kOwnTrip));
  EXPECT_TRUE(crowd.crowded(0)) << "what the exchange makes of it is not known";
}

TEST(Crowd, RemembersFromExchangeToExchange) {
  Crowd crowd = begun();
  crowd.measured(kAlone, kBusy, kBusy);
  crowd.begin(kAlone, kCycle);
  EXPECT_FALSE(crowd.crowded(0));
}

}  // namespace
}  // namespace alm::clocks

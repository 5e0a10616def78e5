#include "clocks/busy_link.h"

#include <gtest/gtest.h>

namespace alm::clocks {
namespace {

constexpr base::Nanos kPacket = 1000, kLatency = 4000;
constexpr std::uint32_t kFull = 100;

TEST(BusyLink, HoldsWhatIsUnderWayAndHalfAsMuchIsSafe) {
  const BusyLink link(kPacket, kLatency);
  EXPECT_EQ(link.busy_window(kFull), 4u);
  EXPECT_EQ(link.safe_window(kFull), 6u);
  EXPECT_EQ(link.safe_window(3), 3u);
}

TEST(BusyLink, AWindowOfOnePacketIsNeverSafe) {
  EXPECT_EQ(BusyLink(kPacket, kPacket / 2).busy_window(kFull), 1u);
  EXPECT_EQ(BusyLink(kPacket, kPacket / 2).safe_window(kFull), 2u);
}

TEST(BusyLink, ShortPacketsTakeTheirPartOfTheTime) {
  BusyLink link(kPacket, kLatency);
  EXPECT_EQ(link.begin(0.25), kPacket / 4);
  EXPECT_EQ(link.begin(1), kPacket);
}

TEST(BusyLink, AWindowMakesTripsAsLongAsTheLinkNeedsForIt) {
  const BusyLink told(kPacket, kLatency);
  EXPECT_EQ(told.own_round_trip(4), 2 * kLatency) << "the idle one";
  EXPECT_EQ(told.own_round_trip(kFull), kFull * kPacket);
}

TEST(BusyLink, NothingIsKnownWithoutAFile) {
  BusyLink unknown(0, 0);
  EXPECT_FALSE(unknown.known());
  EXPECT_EQ(unknown.begin(1), 0);
  EXPECT_EQ(unknown.safe_window(kFull), kFull);
  EXPECT_EQ(unknown.own_round_trip(kFull), 0);
}

}  // namespace
}  // namespace alm::clocks

#include "clocks/pipe.h"

#include <gtest/gtest.h>

namespace alm::clocks {
namespace {

constexpr base::Nanos kMicro = base::kMicrosecond;
constexpr std::uint32_t kFirst = 4;
constexpr std::uint64_t kPipeCycle = 31;

// The windows that a rank takes whose packets need `each` on the link and `trip` one way.
std::uint32_t settled(base::Nanos each, base::Nanos trip, base::Nanos idle, const SeenTrips& seen,
                      int packets = 40'000) {
  Pipe pipe(idle);
  std::uint32_t window = kFirst;
  base::Nanos now = 0;
  pipe.begin(0, kPipeCycle);
  for (int i = 0; i < packets; ++i) {
    now += std::max(each, trip / window);
    if (const auto holds = pipe.sent(now, window, seen)) window = std::max(window, *holds);
  }
  return window;
}

TEST(Pipe, ANetworkWithoutLatencyNeedsNoMoreThanTheLeast) {
  EXPECT_EQ(settled(120 * kMicro, 100 * kMicro, 60 * kMicro, {}), kFirst);
}

TEST(Pipe, ALongDistanceIsFilledTwice) {
  // 100 Gbit/s and 100 us: 417 packets one way.
  const std::uint32_t window = settled(120, 50 * kMicro, 100 * kMicro, {});
  EXPECT_GE(window, 834u);
  EXPECT_LE(window, 834u + 1);
}

// The window doubles with each measurement of two windows.
TEST(Pipe, FollowsWithinAFewWindows) {
  EXPECT_GE(settled(120, 50 * kMicro, 100 * kMicro, {}, 4 * 834), 400u);
}

TEST(Pipe, WithoutTheIdleRoundTripHalfOfWhatExchangesSeeCounts) {
  EXPECT_EQ(settled(120 * kMicro, 100 * kMicro, 0, {2400 * kMicro, 9000 * kMicro}), 10);
  EXPECT_EQ(settled(120 * kMicro, 100 * kMicro, 0, {}), kFirst)
      << "nothing is known of the distance";
}

// Those who were asked are at another site.
TEST(Pipe, TheFarthestPeerBoundsTheIdleRoundTrip) {
  EXPECT_EQ(settled(12 * kMicro, 10 * kMicro, 20'000 * kMicro, {30 * kMicro, 120 * kMicro}), 10);
}

TEST(Pipe, ANearPeerDoesNotBoundTheDistanceToFarOnes) {
  const std::uint32_t window = settled(120, 50 * kMicro, 100 * kMicro, {2 * kMicro, 150 * kMicro});
  EXPECT_GE(window, 834u);
}

// 31 packets leave at once: nothing of the links is in them.
TEST(Pipe, TheFirstPacketsOfAnExchangeSayNothing) {
  Pipe pipe(60 * kMicro);
  for (int exchange = 0; exchange < 100; ++exchange) {
    pipe.begin(exchange * base::kSecond, kPipeCycle);
    for (std::uint64_t i = 0; i < kPipeCycle; ++i) {
      EXPECT_FALSE(pipe.sent(exchange * base::kSecond, kFirst, {}));
    }
  }
}

// 72 packets by windows of 40, 40 us apart: two trips, although no span is measured. The last one
// says nothing of links.
TEST(Pipe, ShortExchangesAreMeasuredAsAWhole) {
  Pipe pipe(80 * kMicro);
  pipe.begin(0, 24);
  for (int i = 0; i < 72; ++i) EXPECT_FALSE(pipe.sent(i < 40 ? 0 : 40 * kMicro, 40, {}));
  EXPECT_EQ(pipe.end(80 * kMicro, {}), 72) << "all of them at once";
  EXPECT_EQ(pipe.end(220 * kMicro, {}), 32) << "180 us for 72";
}

TEST(Pipe, AnExchangeThatFitsTheWindowSaysNothing) {
  Pipe pipe(80 * kMicro);
  pipe.begin(0, 24);
  for (int i = 0; i < 40; ++i) EXPECT_FALSE(pipe.sent(0, 40, {}));
  EXPECT_FALSE(pipe.end(40 * kMicro, {}));
}

}  // namespace
}  // namespace alm::clocks

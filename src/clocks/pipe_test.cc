#include "clocks/pipe.h"

#include <gtest/gtest.h>

namespace alm::clocks {
namespace {

constexpr base::Nanos kMicro = base::kMicrosecond;
constexpr std::uint32_t kPipeLeast = 10;
constexpr std::uint64_t kPipeCycle = 31;

// The windows that a rank takes whose packets need `each` on the link and `trip` one way.
std::uint32_t settled(base::Nanos each, base::Nanos trip, base::Nanos idle, base::Nanos seen,
                      int packets = 40'000) {
  Pipe pipe(kPipeLeast, idle);
  std::uint32_t window = kPipeLeast;
  base::Nanos now = 0;
  pipe.begin(kPipeCycle);
  for (int i = 0; i < packets; ++i) {
    now += std::max(each, trip / window);
    if (const auto holds = pipe.sent(now, window, seen)) window = std::max(window, *holds);
  }
  return window;
}

TEST(Pipe, AWayWithoutLatencyNeedsNoMoreThanTheLeast) {
  EXPECT_EQ(settled(120 * kMicro, 100 * kMicro, 60 * kMicro, 0), kPipeLeast + 1);
}

TEST(Pipe, ALongWayIsFilledTwice) {
  // 100 Gbit/s and 100 us: 417 packets one way.
  const std::uint32_t window = settled(120, 50 * kMicro, 100 * kMicro, 0);
  EXPECT_GE(window, 834u);
  EXPECT_LE(window, 834u + kPipeLeast + 1);
}

// The window doubles with each measurement of two windows.
TEST(Pipe, FollowsWithinAFewWindows) {
  EXPECT_GE(settled(120, 50 * kMicro, 100 * kMicro, 0, 4 * 834), 400u);
}

TEST(Pipe, WithoutTheIdleRoundTripHalfOfWhatExchangesSeeCounts) {
  EXPECT_EQ(settled(120 * kMicro, 100 * kMicro, 0, 2400 * kMicro), kPipeLeast + 10);
  EXPECT_EQ(settled(120 * kMicro, 100 * kMicro, 0, 0), kPipeLeast) << "nothing is known of the way";
}

// 31 packets leave at once: nothing of the links is in them.
TEST(Pipe, TheFirstPacketsOfAnExchangeSayNothing) {
  Pipe pipe(kPipeLeast, 60 * kMicro);
  for (int exchange = 0; exchange < 100; ++exchange) {
    pipe.begin(kPipeCycle);
    for (std::uint64_t i = 0; i < kPipeCycle; ++i) {
      EXPECT_FALSE(pipe.sent(exchange * base::kSecond, kPipeLeast, 0));
    }
  }
}

}  // namespace
}  // namespace alm::clocks

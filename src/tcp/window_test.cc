// RFC 5681, 6298, 8257 and 9438: what the window and the time-out are after each event.
#include "tcp/window.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tcp/round_trip.h"

namespace alm::tcp {
namespace {

using base::kMillisecond;
using base::kSecond;
using base::Nanos;

constexpr std::uint64_t kUnit = Window::kUnit;

Config with(Control control) {
  Config out;
  out.control = control;
  return out;
}

TEST(RoundTrip, TheFirstSampleAndThoseAfterItFollowRfc6298) {
  RoundTrip trip;
  Config config;
  EXPECT_EQ(trip.timeout(config, 0), kSecond);  // (2.1)
  trip.measure(100 * kMillisecond);             // (2.2): srtt R, rttvar R / 2
  EXPECT_EQ(trip.smoothed(), 100 * kMillisecond);
  EXPECT_EQ(trip.variation(), 50 * kMillisecond);
  EXPECT_EQ(trip.timeout(config, 0), 300 * kMillisecond);
  trip.measure(60 * kMillisecond);  // (2.3): beta 1/4, alpha 1/8
  EXPECT_EQ(trip.variation(), (50 * 3 + 40) * kMillisecond / 4);
  EXPECT_EQ(trip.smoothed(), 95 * kMillisecond);
}

TEST(RoundTrip, TheMinimumBoundsTheVariationAndTimeoutsDouble) {
  RoundTrip trip;
  Config config;
  trip.measure(8 * kMillisecond);
  EXPECT_EQ(trip.timeout(config, 0), 208 * kMillisecond);
  EXPECT_EQ(trip.timeout(config, 1), 416 * kMillisecond);
  EXPECT_EQ(trip.timeout(config, 3), 1664 * kMillisecond);
  EXPECT_EQ(trip.timeout(config, 30), config.rto_max);
}

TEST(Window, SlowStartAddsASegmentForEachAcknowledged) {
  const Config config = with(Control::kNewReno);
  Window window(config);
  EXPECT_EQ(window.segments(), 10u);
  window.acknowledged(10, 0, kMillisecond);
  EXPECT_EQ(window.segments(), 20u);
}

TEST(Window, NewRenoHalvesAndThenAddsASegmentPerWindow) {
  const Config config = with(Control::kNewReno);
  Window window(config);
  window.acknowledged(10, 0, kMillisecond);
  window.lost();
  EXPECT_EQ(window.size(), 10 * kUnit);
  EXPECT_EQ(window.threshold(), 10 * kUnit);
  for (int ack = 0; ack < 10; ++ack) window.acknowledged(1, 0, kMillisecond);
  // RFC 5681 (3): a little less than a segment, as the window grows meanwhile.
  EXPECT_GE(window.size(), 10 * kUnit + 9 * kUnit / 10);
  EXPECT_LE(window.size(), 11 * kUnit);
}

TEST(Window, TheThresholdIsTwoSegmentsAtLeast) {
  const Config config = with(Control::kNewReno);
  Window window(config);
  for (int loss = 0; loss < 5; ++loss) window.lost();
  EXPECT_EQ(window.segments(), 2u);
}

TEST(Window, ATimeoutLeavesOneSegmentAndTheFirstOfThemTheThreshold) {
  const Config config = with(Control::kNewReno);
  Window window(config);
  window.timed_out();
  EXPECT_EQ(window.segments(), 1u);
  EXPECT_EQ(window.threshold(), 5 * kUnit);
  window.timed_out();
  EXPECT_EQ(window.threshold(), 5 * kUnit);
  window.acknowledged(1, 0, kMillisecond);
  window.acknowledged(2, 0, kMillisecond);
  EXPECT_EQ(window.segments(), 4u);
}

TEST(Window, CubicLeavesSevenTenthsAndConvergesFast) {
  const Config config = with(Control::kCubic);
  Window window(config);
  window.acknowledged(90, 0, kMillisecond);
  window.lost();
  EXPECT_EQ(window.size(), 70 * kUnit);
  window.lost();  // before it was back at 100: W_max is 70 (1 + 0.7) / 2
  EXPECT_EQ(window.size(), 49 * kUnit);
}

// The window that RFC 9438's equations give, at every round trip of 10 s.
TEST(Window, CubicFollowsItsEquation) {
  const Config config = with(Control::kCubic);
  Window window(config);
  window.acknowledged(990, 0, kMillisecond);
  window.lost();
  constexpr double kBefore = 1000, kC = 0.4;
  const double rise = std::cbrt(0.3 * kBefore / kC);  // 9.09 s
  constexpr Nanos kTrip = 100 * kMillisecond;
  Nanos now = kSecond;
  const Nanos begin = now;
  for (; now <= begin + 12 * kSecond; now += kTrip) {
    const auto before = window.segments();
    for (std::uint32_t ack = 0; ack < before; ++ack) window.acknowledged(1, now, kTrip);
    const double since = static_cast<double>(now + kTrip - begin) / 1e9 - rise;
    const double expected = kC * since * since * since + kBefore;
    EXPECT_NEAR(static_cast<double>(window.size()) / kUnit, expected, 0.015 * expected) << now;
  }
}

TEST(Window, CubicIsNotSlowerThanNewRenoWouldBe) {
  const Config config = with(Control::kCubic);
  Window window(config);
  window.lost();
  EXPECT_EQ(window.size(), 7 * kUnit);
  // 9/17 of a segment per round trip of 1 ms, while cubic alone would hardly move.
  Nanos now = 0;
  for (int trip = 0; trip < 4; ++trip, now += kMillisecond) {
    const auto before = window.segments();
    for (std::uint32_t ack = 0; ack < before; ++ack) window.acknowledged(1, now, kMillisecond);
  }
  EXPECT_NEAR(static_cast<double>(window.size()) / kUnit, 7 + 4 * 9.0 / 17, 0.25);
}

TEST(Window, DctcpCutsByThePartThatIsMarked) {
  const Config config = with(Control::kDctcp);
  Window window(config);
  window.acknowledged(90, 0, kMillisecond);
  window.marked();  // alpha is 1 at the start (RFC 8257, 4.2)
  EXPECT_EQ(window.size(), 50 * kUnit);
  // alpha = (1 - g) alpha + g F, g = 1/16
  window.weigh_marks(1000, 0);
  EXPECT_EQ(window.alpha(), Window::kAlphaOne * 15 / 16);
  window.weigh_marks(1000, 1000);
  EXPECT_EQ(window.alpha(), Window::kAlphaOne * 15 * 15 / 256 + Window::kAlphaOne / 16);
  for (int i = 0; i < 200; ++i) window.weigh_marks(1000, 250);
  EXPECT_NEAR(static_cast<double>(window.alpha()) / Window::kAlphaOne, 0.25, 0.001);
  window.marked();
  EXPECT_NEAR(static_cast<double>(window.size()) / kUnit, 50 * (1 - 0.125), 0.05);
}

TEST(Window, APauseHalvesForEachTimeoutInIt) {
  const Config config = with(Control::kNewReno);
  Window window(config);
  window.acknowledged(90, 0, kMillisecond);
  window.rest(200 * kMillisecond, 200 * kMillisecond, 10);
  EXPECT_EQ(window.segments(), 100u);
  window.rest(500 * kMillisecond, 200 * kMillisecond, 10);
  EXPECT_EQ(window.segments(), 25u);
  window.rest(kSecond, 200 * kMillisecond, 10);
  EXPECT_EQ(window.segments(), 10u);
}

TEST(Window, CubeRootsAreExact) {
  for (const std::uint64_t root : {0ull, 1ull, 2ull, 9ull, 1000003ull, 1ull << 40}) {
    const auto wide = static_cast<unsigned __int128>(root);
    EXPECT_EQ(cube_root(wide * wide * wide), root);
    if (root == 0) continue;
    EXPECT_EQ(cube_root(wide * wide * wide - 1), root - 1);
  }
}

}  // namespace
}  // namespace alm::tcp

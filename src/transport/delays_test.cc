#include "transport/delays.h"

#include <gtest/gtest.h>

namespace alm::transport {
namespace {

constexpr base::Nanos kUs = base::kMicrosecond;
constexpr base::Nanos kMs = base::kMillisecond;

Delays begun(base::Nanos cycle = 100 * kUs) {
  Config config;
  config.round_trip = 10 * kUs;
  Delays delays(config);
  delays.begin(0, {.cycle = cycle, .total = 10 * cycle, .cycles = 10});
  return delays;
}

// As engine.h lists them, with J = 1 ms.
TEST(Delays, CountCyclesAndSkew) {
  const Delays delays = begun();
  EXPECT_EQ(delays.ack(true, false), 100 * kUs + 2 * kMs);
  EXPECT_EQ(delays.ack(false, false), 100 * kUs + 25 * kMs);
  EXPECT_EQ(delays.probe(true, false), 10 * kUs + 200 * kUs + 4 * kMs);
  EXPECT_EQ(delays.probe(false, false), 10 * kUs + 400 * kUs + 100 * kMs);
  EXPECT_EQ(delays.await(false), 10 * kUs + 300 * kUs + 6 * kMs);
}

TEST(Delays, ACycleIsStretchedAsItReallyTakesButNotWithoutEnd) {
  Delays delays = begun();
  delays.wrapped(300 * kUs);
  EXPECT_EQ(delays.cycle(), 150 * kUs);
  delays.wrapped(1000 * kMs);
  EXPECT_EQ(delays.cycle(), 150 * kUs + (1600 * kUs - 150 * kUs) / 4);
  for (int i = 0; i < 50; ++i) delays.wrapped(1000 * kMs);
  EXPECT_EQ(delays.cycle(), 100 * kUs) << "never below the nominal one";
}

TEST(Delays, SkewIsMeasuredByWhatExchangesTakeLonger) {
  Delays delays = begun();
  delays.measure_jitter(1 * kMs);
  EXPECT_EQ(delays.ack(true, false), 100 * kUs + 2 * kMs) << "at least Config::timer_jitter";
  delays.measure_jitter(101 * kMs);  // 10 ms a cycle longer
  EXPECT_EQ(delays.ack(true, false), 100 * kUs + 2 * (kMs + 9 * kMs / 4));
  for (int i = 0; i < 50; ++i) delays.measure_jitter(100'000 * kMs);
  EXPECT_LE(delays.ack(true, false), 100 * kUs + 40 * kMs);
}

TEST(Delays, AGuessThatIsTooLongBecomesShorter) {
  Delays delays = begun();
  const NominalTimes guess{.cycle = 3 * kMs, .total = 30 * kMs, .cycles = 10};
  for (int i = 0; i < 50; ++i) {
    delays.begin(0, guess);
    delays.measure_packets(10 * kMs);
  }
  delays.begin(0, guess);
  EXPECT_NEAR(static_cast<double>(delays.cycle()), 1e6, 1e4);
  delays.measure_packets(0);  // a rank that came late had everything
  delays.begin(0, guess);
  EXPECT_GE(delays.cycle(), 800 * kUs);
  for (int i = 0; i < 50; ++i) {
    delays.begin(0, guess);
    delays.measure_packets(1000 * kMs);
  }
  delays.begin(0, guess);
  EXPECT_LE(delays.cycle(), guess.cycle) << "losses do not make it longer than that";
}

TEST(Delays, WhatIsKnownOfPacketsIsNotMeasured) {
  Config config;
  config.knows_rate = true;
  Delays delays(config);
  const NominalTimes known{.cycle = kMs, .total = 10 * kMs, .cycles = 10};
  delays.begin(0, known);
  delays.measure_packets(kMs);
  delays.begin(0, known);
  EXPECT_EQ(delays.cycle(), kMs);
}

TEST(Delays, WaitingForOthersInAQueueIsNoSkew) {
  Delays delays = begun();
  delays.measure_jitter(101 * kMs);
  EXPECT_EQ(delays.ack(true, true), 100 * kUs + 2 * kMs) << "Config::timer_jitter";
  Delays slow = begun(8 * kMs);
  slow.measure_jitter(280 * kMs);  // 20 ms a cycle longer
  EXPECT_EQ(slow.ack(true, true), 8 * kMs + 2 * 2 * kMs) << "a quarter of a cycle";
}

TEST(Delays, DoubleForEveryUnansweredProbeUpToTheKeepAlive) {
  const Delays delays = begun();
  EXPECT_EQ(delays.backed_off(kMs, 0), kMs);
  EXPECT_EQ(delays.backed_off(kMs, 3), 8 * kMs);
  EXPECT_EQ(delays.backed_off(kMs, 10), base::kSecond);
  EXPECT_EQ(delays.backed_off(5 * base::kSecond, 10), 5 * base::kSecond);
}

TEST(Delays, PeersAreLookedAtByRoundTripsWhereTheyAreKnown) {
  Delays delays = begun();
  EXPECT_EQ(delays.look(2, 12 * kUs, false), delays.probe_least(false));
  delays.answers().at_once(200 * kUs);
  EXPECT_EQ(delays.look(2, 12 * kUs, false), 400 * kUs);
  EXPECT_EQ(delays.look(200, 12 * kUs, false), 1200 * kUs) << "two for each packet";
  EXPECT_EQ(delays.patience(0), 400 * kUs);
  EXPECT_EQ(delays.patience(300 * kUs), 600 * kUs) << "this peer answers later";
  EXPECT_EQ(delays.ask_back(0), 110 * kUs);
}

}  // namespace
}  // namespace alm::transport

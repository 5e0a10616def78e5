#include "execute/configuration.h"

#include <gtest/gtest.h>

namespace alm::execute {
namespace {

TEST(Configuration, AFarBlockMayBeAsFarAheadAsTheWindow) {
  transport::Config config;
  configure_far(config, {.pace_us = 20, .round_trip_us = 10'000, .window_packets = 1000});
  EXPECT_EQ(config.window_packets, 1000u);
  EXPECT_EQ(config.span_packets, 1000u);
}

// There a loss is found by what one bitmap tells.
TEST(Configuration, OverSeveralPathsABlockStaysWithinABitmap) {
  transport::Config config;
  config.paths = 4;
  const auto span = config.span_packets;
  configure_far(config, {.pace_us = 20, .round_trip_us = 10'000, .window_packets = 1000});
  EXPECT_EQ(config.span_packets, span);
  configure_far(config);
  EXPECT_EQ(config.span_packets, span);
}

// A cluster file that says no latency describes the sites alone.
TEST(Configuration, AnUnknownRoundTripGetsTheWindowOfAnUnknownNetwork) {
  transport::Config unknown, without_latency;
  configure_far(unknown);
  configure_far(without_latency, {.pace_us = 20, .window_packets = 64});
  EXPECT_EQ(without_latency.window_packets, unknown.window_packets);
}

TEST(Configuration, ARoundTripThatWasMeasuredIsWaitedFor) {
  transport::Config config;
  configure_far(config, 10 * base::kMillisecond);
  EXPECT_EQ(config.round_trip, 10 * base::kMillisecond);
}

TEST(Configuration, WhatSocketsHoldBoundsWhatIsSoughtInAPhaseToo) {
  plan::Tuning tuning;
  tuning.window_packets = 8;
  transport::Config config;
  configure(config, &tuning, {});
  EXPECT_GT(config.refuted_window_packets, 100u);
  config.refuted_window_packets = 100;
  configure_near(config, {}, &tuning, {});
  EXPECT_EQ(config.refuted_window_packets, 100u);
  configure(config, &tuning, {.window_packets = 3});
  EXPECT_EQ(config.refuted_window_packets, 0u) << "it was asked for";
}

// Who collects for its site may be late, while the others of the site go on.
TEST(Configuration, WhoSendsOneFarMoreThanOthersGoesByAcknowledgementsAlone) {
  plan::Phase even, uneven;
  even.rounds.send = uneven.rounds.send = {0, 1};
  uneven.out = {{{2}, {0}}, {{2}, {3}}, {{2}, {4}}, {{2}, {5}}, {{2}, {1}}};
  uneven.out_begin = {0, 4, 5};
  transport::Config config;
  configure_near(config, even, nullptr, {});
  EXPECT_EQ(config.send_rule, transport::SendRule::kEither);
  configure_near(config, uneven, nullptr, {});
  EXPECT_EQ(config.send_rule, transport::SendRule::kUnacked);
}

}  // namespace
}  // namespace alm::execute

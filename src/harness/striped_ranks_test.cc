// 004's message layer on simulated lossless networks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "harness/leaf_spine_test.h"
#include "harness/simulation.h"
#include "harness/simulation_test_run.h"
#include "harness/stripes.h"

namespace alm::harness {
namespace {

using paths::PathRule;
using ::testing::HasSubstr;
using topology::Cluster;

struct Wanted {
  PathRule rule = PathRule::kBss;
  std::uint32_t paths = 4, batch = 2;
  std::uint64_t packets = 100;
  std::uint32_t exchanges = 1;
  sim::Picos cost = 0;
};

// Every host sends to the one at its place below the other leaf.
SimRequest striped_request(const Cluster& cluster, const Wanted& wanted) {
  SimRequest out;
  out.cluster = &cluster;
  const std::uint32_t ranks = cluster.host_count();
  out.plan = [=](std::uint32_t rank) {
    return plan::make_plan(
        {.ranks = ranks, .self = {rank}, .algorithm = plan::Algorithm::kShiftExchange});
  };
  out.bytes_of = [=](std::uint32_t from, std::uint32_t to) {
    return to == (from + ranks / 2) % ranks ? wanted.packets * kPayload : 0;
  };
  out.exchanges = wanted.exchanges;
  out.config = [=](std::uint32_t) {
    transport::Config config;
    config.paths = wanted.paths;
    config.path_rule = wanted.rule;
    config.path_batch = wanted.batch;
    return config;
  };
  out.striped = StripedFlow{wanted.cost, wanted.cost};
  out.network.rule = routing::Rule::kSource;
  return out;
}

Cluster network(double slow_mbit_s = 100) {
  return make_leaf_spine({.slow_mbit_s = slow_mbit_s, .lossless = true});
}

// Each message takes a start, a clear, the data, and for each stripe a finish and an
// acknowledgement.
TEST(Stripes, EveryMessageHasItsNotices) {
  const Cluster cluster = network();
  const SimResult result = run(striped_request(cluster, {.rule = PathRule::kHsam}));
  EXPECT_EQ(result.counters.data_sent, 8u * 4 * 25);
  EXPECT_EQ(result.counters.acks_sent, 8u * 4);
  EXPECT_EQ(result.packets, 8u * (4 * 25 + 4 + 2 + 4));
  for (std::size_t path = 0; path < 4; ++path) {
    EXPECT_EQ(result.counters.path_loads[path], 8u * 25);
  }
}

TEST(Stripes, SmallMessagesAreOneStripeAndRotate) {
  const Cluster cluster = network();
  const SimResult result = run(striped_request(cluster, {.packets = 4, .exchanges = 8}));
  EXPECT_EQ(result.counters.acks_sent, 8u * 8);
  for (std::size_t path = 0; path < 4; ++path) {
    EXPECT_EQ(result.counters.path_loads[path], 8u * 8 * 4 / 4);
  }
}

// Stage 1: the first half of the hosts sends; stage 2: the second half does, twice as much.
TEST(Stripes, StagesFollowOneAnotherTogether) {
  const Cluster cluster = network();
  SimRequest wanted = striped_request(cluster, {.rule = PathRule::kEven, .exchanges = 4});
  wanted.bytes_of = nullptr;
  wanted.bytes_in = [](std::uint32_t stage, std::uint32_t from, std::uint32_t to) -> std::uint64_t {
    if (to != (from + 4) % 8 || (from < 4) != (stage == 0)) return 0;
    return (stage + 1) * 100 * kPayload;
  };
  wanted.stages = 2;
  wanted.together = true;
  const SimResult result = run(wanted);
  EXPECT_EQ(result.counters.data_sent, 2u * 4 * (100 + 200));
  ASSERT_EQ(result.exchange_time.size(), 4u);
  EXPECT_GT(result.exchange_time[1], 3 * result.exchange_time[0] / 2);
  EXPECT_LT(result.exchange_time[1], 2 * result.exchange_time[0]);
  EXPECT_EQ(result.exchange_time[2], result.exchange_time[0]);
}

// Finish notices of other paths overtake that of a slow one, and wait for their turn.
TEST(Stripes, NoticesAreTakenInOrder) {
  EXPECT_GT(run(striped_request(network(20), {.rule = PathRule::kEven})).out_of_order, 0u);
  EXPECT_EQ(run(striped_request(network(), {.rule = PathRule::kOne})).out_of_order, 0u);
}

// Four messages share three fast spines and one of a tenth. Even stripes wait for the slow one;
// weights leave it.
TEST(Stripes, WeightsFollowCompletions) {
  const Cluster cluster = network(10);
  const auto last = [&](PathRule rule) {
    const SimResult result = run(striped_request(cluster, {.rule = rule, .exchanges = 40}));
    return static_cast<double>(result.exchange_time.back());
  };
  const double even = last(PathRule::kEven);
  EXPECT_LE(last(PathRule::kHsam), 0.35 * even);
  EXPECT_LE(last(PathRule::kBss), 0.35 * even);
}

// After some exchanges a path of a hundredth has a weight that rounds away beside the others. Its
// stripe is still a part of the message.
TEST(Stripes, AMessageIsNotThereBeforeItsLightestStripe) {
  const Cluster cluster =
      make_leaf_spine({.rate_mbit_s = 1000, .slow_mbit_s = 10, .lossless = true});
  const SimResult result =
      run(striped_request(cluster, {.rule = PathRule::kHsam, .exchanges = 100}));
  EXPECT_EQ(result.exchange_time.size(), 100u);
  EXPECT_EQ(result.counters.acks_sent, 100u * 8 * 4);
}

// In the order of posting, one stripe's packets leave before those of the next.
TEST(Stripes, ACardMayServeWhatWasPostedFirst) {
  const Cluster cluster = network();
  const auto time = [&](bool as_posted, PathRule rule) {
    SimRequest wanted = striped_request(cluster, {.rule = rule});
    wanted.striped->as_posted = as_posted;
    return run(wanted).exchange_time[0];
  };
  EXPECT_EQ(time(true, PathRule::kOne), time(false, PathRule::kOne));
  EXPECT_NE(time(true, PathRule::kEven), time(false, PathRule::kEven));
}

// With the same first path everybody's small messages meet.
TEST(Stripes, FirstPathsMayBeTheSame) {
  const Cluster cluster = network();
  const auto loads = [&](bool apart) {
    SimRequest wanted = striped_request(cluster, {.packets = 4});
    wanted.striped->first_apart = apart;
    return run(wanted).counters.path_loads;
  };
  EXPECT_EQ(loads(true)[1], 8u * 4 / 4);
  EXPECT_EQ(loads(false)[1], 8u * 4);
}

// A processor that handles everything one after the other: each stripe costs posts and handling.
TEST(Stripes, EachStripeCostsProcessorTime) {
  const Cluster cluster = network();
  constexpr sim::Picos kCost = 1000 * sim::kPicosPerMicro;
  const auto slower = [&](PathRule rule) {
    const auto free = run(striped_request(cluster, {.rule = rule})).exchange_time[0];
    return run(striped_request(cluster, {.rule = rule, .cost = kCost})).exchange_time[0] - free;
  };
  EXPECT_GE(slower(PathRule::kOne), 4 * kCost);
  EXPECT_GE(slower(PathRule::kHsam), slower(PathRule::kOne) + 3 * kCost);
}

TEST(Stripes, CutsAddUp) {
  Striping striping({PathRule::kHsam, 5, 0, 2}, paths::kAlpha);
  striping.completed(striping.cut(1'000'003, 10), {5, 4, 3, 2, 1});
  for (const std::uint64_t bytes : {11u, 1000u, 999'983u}) {
    std::uint64_t sum = 0;
    for (const Stripe& stripe : striping.cut(bytes, 10)) sum += stripe.bytes;
    EXPECT_EQ(sum, bytes);
  }
}

TEST(Stripes, WhatCannotBeSimulatedIsRefused) {
  const Cluster cluster = network();
  const auto rule = simulate(striped_request(cluster, {.rule = PathRule::kLeastLoaded}));
  ASSERT_FALSE(rule.ok());
  EXPECT_THAT(rule.error().message, HasSubstr("expected one, rotate, random, even, bss or hsam"));
  const Cluster dropping = make_leaf_spine({});
  const auto lossy = simulate(striped_request(dropping, {}));
  ASSERT_FALSE(lossy.ok());
  EXPECT_THAT(lossy.error().message, HasSubstr("back-pressure"));
}

}  // namespace
}  // namespace alm::harness

// The library's own protocol over several paths of a simulated network.
#include <gtest/gtest.h>

#include <vector>

#include "harness/leaf_spine_test.h"
#include "harness/simulation.h"
#include "harness/simulation_test_run.h"

namespace alm::harness {
namespace {

using paths::PathRule;
using topology::Cluster;

constexpr PathRule kAdaptive[] = {PathRule::kLeastLoaded, PathRule::kBss, PathRule::kHsam,
                                  PathRule::kRecycled, PathRule::kBitmap};

// Every host of one leaf sends to the host at its place below the other leaf, and back.
SimRequest across(const Cluster& cluster, PathRule rule, std::uint64_t packets) {
  SimRequest out;
  out.cluster = &cluster;
  const std::uint32_t ranks = cluster.host_count();
  out.plan = [=](std::uint32_t rank) { return plan::make_plan({.ranks = ranks, .self = {rank}}); };
  out.bytes_of = [=](std::uint32_t from, std::uint32_t to) {
    return to == (from + ranks / 2) % ranks ? packets * kPayload : 0;
  };
  out.config = [=](std::uint32_t) {
    transport::Config config;
    config.packet_time = 121'120;
    config.window_packets = 16;
    config.paths = 4;
    config.path_rule = rule;
    config.path_batch = 2;
    return config;
  };
  out.network.rule = routing::Rule::kSource;
  return out;
}

std::uint64_t through(const Cluster& cluster, const SimResult& result, const char* from,
                      const char* to) {
  const auto port = find_port(cluster, from, to);
  return port ? result.ports[port.value()].packets : 0;
}

TEST(Paths, EvenPathsLoadEverySpineAlike) {
  const Cluster cluster = make_leaf_spine({});
  const SimResult result = run(across(cluster, PathRule::kRotate, 400));
  for (const char* spine : {"spine0", "spine1", "spine2", "spine3"}) {
    EXPECT_NEAR(static_cast<double>(through(cluster, result, "leaf0", spine)), 400, 60) << spine;
  }
  EXPECT_EQ(result.counters.data_retransmitted, 0u);
  std::uint64_t loads = 0;
  for (const std::uint64_t load : result.counters.path_loads) loads += load;
  EXPECT_EQ(loads, result.counters.data_sent);
}

// A spine at a tenth of the rate could carry 3 % of the packets. Of those sent after the first 300
// of each host nearly none goes there any more.
TEST(Paths, AdaptivePoliciesLeaveASlowSpineWithinAFewHundredPacketTimes) {
  const Cluster cluster = make_leaf_spine({.slow_mbit_s = 10});
  for (const PathRule rule : kAdaptive) {
    std::vector<double> slow;
    for (const std::uint64_t packets : {300u, 900u}) {
      const SimResult result = run(across(cluster, rule, packets));
      slow.push_back(static_cast<double>(through(cluster, result, "leaf0", "spine3")));
    }
    EXPECT_LE(slow[0], 0.15 * 4 * 300) << name_of(rule);
    EXPECT_LE(slow[1] - slow[0], 0.08 * 4 * 600) << name_of(rule);
  }
}

// One of four spines loses everything from a moment on: three are left, and what it swallowed.
TEST(Paths, ABlackHoleCostsItsShare) {
  const Cluster cluster = make_leaf_spine({});
  for (const PathRule rule : kAdaptive) {
    SimRequest wanted = across(cluster, rule, 1500);
    wanted.network.faults.push_back({.port = find_port(cluster, "leaf0", "spine1").value(),
                                     .start = 20'000 * sim::kPicosPerMicro});
    const SimResult result = run(wanted);
    ASSERT_FALSE(result.exchange_time.empty()) << name_of(rule);
    const double bound = 1500 * 121.12e-6 * 4 / 3;
    // Four hosts with two paths each do not fill three spines.
    const double slack = rule == PathRule::kBss ? 1.4 : 1.2;
    EXPECT_LE(static_cast<double>(result.exchange_time[0]) * 1e-12, slack * bound) << name_of(rule);
    EXPECT_GT(result.counters.path_silences, 0u) << name_of(rule);
  }
}

// Over one path the numbers make no difference to the packets or to the time.
TEST(Paths, SeveralNumbersOverOnePathCostNothing) {
  const Cluster cluster = make_leaf_spine({.leaves = 1, .spines = 1});
  SimRequest wanted = across(cluster, PathRule::kOne, 300);
  wanted.bytes_of = nullptr;
  wanted.bytes = 100 * kPayload;
  wanted.network.rule = routing::Rule::kEcmp;
  auto one = wanted;
  one.config = [&](std::uint32_t) {
    auto config = wanted.config(0);
    config.paths = 1;
    return config;
  };
  const SimResult before = run(one);
  for (const PathRule rule : kAdaptive) {
    auto several = across(cluster, rule, 0);
    several.bytes_of = nullptr;
    several.bytes = wanted.bytes;
    several.network.rule = routing::Rule::kEcmp;
    const SimResult result = run(several);
    EXPECT_LE(result.exchange_time[0], before.exchange_time[0] * 102 / 100) << name_of(rule);
    EXPECT_EQ(result.counters.data_retransmitted, 0u) << name_of(rule);
  }
}

}  // namespace
}  // namespace alm::harness

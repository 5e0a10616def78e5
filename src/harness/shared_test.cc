// Several jobs on one network, and TCP flows beside them.
#include <gtest/gtest.h>

#include <algorithm>

#include "harness/simulation.h"
#include "plan/host_aggregation.h"

namespace alm::harness {
namespace {

using topology::Cluster;

constexpr std::uint32_t kWindow = 5;  // 45 packets / 8 hosts behind an uplink
constexpr std::uint64_t kBlock = 20'000;
constexpr sim::Picos kExchangeAlone = 64'500'000'000;  // about, with kBlock

// 32 hosts, uplinks at 5/8 of what the hosts can send.
Cluster oversubscribed() {
  return topology::build_tree(
      {.groups = {8, 8, 8, 8}, .uplink_mbit_s = 500, .core_queue_packets = 45});
}

SimRequest job(const Cluster& cluster, bool yields, std::uint32_t exchanges = 8) {
  SimRequest out;
  out.cluster = &cluster;
  out.bytes = kBlock;
  out.exchanges = exchanges;
  const std::uint32_t ranks = cluster.host_count();
  out.plan = [ranks](std::uint32_t rank) {
    return plan::make_plan({.ranks = ranks, .self = {rank}}).value();
  };
  out.config = [yields](std::uint32_t) {
    transport::Config config;
    config.window_packets = kWindow;
    config.packet_time = 121'120;
    config.yields = yields;
    return config;
  };
  out.jitter = {.mean = 20 * sim::kPicosPerMicro, .seed = 1};
  return out;
}

SharedResult run(const std::vector<SimRequest>& jobs, const std::vector<BulkFlow>& flows = {}) {
  auto result = simulate_shared(jobs, flows);
  if (!result) {
    ADD_FAILURE() << result.error().message;
    return {};
  }
  return std::move(result).value();
}

std::vector<SimRequest> two(const Cluster& cluster, bool yields) {
  std::vector<SimRequest> jobs{job(cluster, yields), job(cluster, yields)};
  jobs[1].starts_at = kExchangeAlone / 3;
  jobs[1].jitter.seed = 2;
  return jobs;
}

double resent(const SharedResult& result) {
  std::uint64_t again = 0, sent = 0;
  for (const SimResult& one : result.jobs) {
    again += one.counters.data_retransmitted;
    sent += one.counters.data_sent;
  }
  return static_cast<double>(again) / static_cast<double>(sent);
}

TEST(Shared, EveryJobDoesItsExchanges) {
  const Cluster cluster = topology::build_one_switch(4);
  std::vector<SimRequest> jobs{job(cluster, true, 3), job(cluster, true, 5)};
  const SharedResult result = run(jobs);
  ASSERT_EQ(result.jobs.size(), 2u);
  EXPECT_EQ(result.jobs[0].exchange_time.size(), 3u);
  EXPECT_EQ(result.jobs[1].exchange_time.size(), 5u);
  for (const SimResult& one : result.jobs) {
    for (const sim::Picos time : one.exchange_time) EXPECT_GT(time, 0);
  }
  // The first goes on, so that the second is never alone.
  EXPECT_GT(result.jobs[0].counters.data_received, 3u * 4 * 3 * 14);
}

TEST(Shared, OneJobWithoutFlowsIsTheSimulationOfOneExchange) {
  const Cluster cluster = oversubscribed();
  const auto alone = simulate(job(cluster, true));
  ASSERT_TRUE(alone);
  EXPECT_EQ(run({job(cluster, true)}).jobs[0].exchange_time, alone.value().exchange_time);
}

TEST(Shared, TheSameRequestGivesTheSameResult) {
  const Cluster cluster = oversubscribed();
  const BulkFlow flow{.from = 0, .to = 15};
  const SharedResult first = run(two(cluster, true), {flow});
  const SharedResult second = run(two(cluster, true), {flow});
  EXPECT_EQ(first.end, second.end);
  EXPECT_EQ(first.jobs[1].exchange_time, second.jobs[1].exchange_time);
  EXPECT_EQ(first.flows[0].packets, second.flows[0].packets);
}

TEST(Shared, JobsOfOneSwitchGetTheSame) {
  const Cluster cluster = topology::build_one_switch(8);
  const std::vector<SimRequest> jobs(4, job(cluster, true, 6));
  const SharedResult result = run(jobs);
  std::vector<sim::Picos> times;
  for (const SimResult& one : result.jobs) times.push_back(one.exchange_time.back());
  const auto [least, most] = std::minmax_element(times.begin(), times.end());
  EXPECT_LT(static_cast<double>(*most), 1.05 * static_cast<double>(*least));
}

TEST(Shared, JobsThatYieldHardlyLoseAnything) {
  const Cluster cluster = oversubscribed();
  const SharedResult without = run(two(cluster, false));
  const SharedResult with = run(two(cluster, true));
  EXPECT_GT(resent(without), 0.003);
  EXPECT_LT(resent(with), 0.3 * resent(without));
  EXPECT_EQ(without.jobs[0].counters.window_cuts, 0u);
  EXPECT_GT(with.jobs[0].counters.window_cuts, 0u);
  EXPECT_GE(with.jobs[0].counters.window_least, 1u);
  EXPECT_LT(with.jobs[0].counters.window_least, kWindow);
}

// Each gets half of what it would get alone, so that its losses count as the other's.
TEST(Shared, JobsThatKnowTheLimitYieldAsWell) {
  const Cluster cluster = oversubscribed();
  std::vector<SimRequest> jobs = two(cluster, true);
  for (SimRequest& one : jobs) {
    const auto config = one.config;
    one.config = [config](std::uint32_t rank) {
      transport::Config out = config(rank);
      out.limit_time = 150'030;  // 8 * 24 / 31 frames of 24.2 us
      out.latency = 290'000;
      return out;
    };
  }
  const SharedResult with = run(jobs);
  EXPECT_LT(resent(with), 0.3 * resent(run(two(cluster, false))));
  EXPECT_GT(with.jobs[0].counters.window_cuts, 0u);
}

// What a late rank has swallowed comes back into the network, however small the window is.
TEST(Shared, JobsThatYieldDoNotStop) {
  const Cluster cluster = oversubscribed();
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    std::vector<SimRequest> jobs = two(cluster, true);
    for (SimRequest& one : jobs) {
      one.exchanges = 14;
      one.jitter.seed += 2 * seed;
    }
    for (const SimResult& one : run(jobs).jobs) {
      const auto slowest = *std::max_element(one.exchange_time.begin(), one.exchange_time.end());
      EXPECT_LT(slowest, 2 * 2 * kExchangeAlone) << "seed " << seed;
    }
  }
}

TEST(Shared, WhoWasIdleForLongTakesTheQueuesForItsOwn) {
  const Cluster cluster = oversubscribed();
  const auto cuts_with = [&](base::Nanos memory) {
    std::vector<SimRequest> jobs = two(cluster, true);
    for (SimRequest& one : jobs) {
      const auto config = one.config;
      one.config = [config, memory](std::uint32_t rank) {
        transport::Config out = config(rank);
        out.yield_memory = memory;
        return out;
      };
    }
    return run(jobs).jobs[0].counters.window_cuts;
  };
  // Without a memory the windows are full again in each exchange, and are cut again.
  EXPECT_GT(cuts_with(0), 3 * cuts_with(base::kSecond));
}

TEST(Shared, AJobAloneDoesNotYield) {
  const Cluster cluster = oversubscribed();
  const SharedResult with = run({job(cluster, true)});
  EXPECT_EQ(with.jobs[0].counters.window_cuts, 0u);
  EXPECT_EQ(with.jobs[0].exchange_time, run({job(cluster, false)}).jobs[0].exchange_time);
}

// Beside an exchange on other hosts, which only says how long the simulation is. Hosts send twice
// as fast as the link between the two leaves carries.
SharedResult run_flows(const std::vector<BulkFlow>& flows, const sim::Options& network = {}) {
  const Cluster cluster = topology::build_tree(
      {.groups = {4, 4}, .host_mbit_s = 200, .uplink_mbit_s = 100, .core_queue_packets = 45});
  SimRequest other = job(cluster, true, 100);
  other.hosts = {{2}, {3}};
  other.bytes = 800'000;
  other.plan = [](std::uint32_t rank) {
    return plan::make_plan({.ranks = 2, .self = {rank}}).value();
  };
  other.network = network;
  return run({other}, flows);
}

TEST(BulkFlows, OneFillsItsLink) {
  const SharedResult result = run_flows({{.from = 0, .to = 4}});
  EXPECT_NEAR(result.flows[0].bit_s, 100e6, 5e6);
  EXPECT_GT(result.flows[0].lost, 0u);  // that is how it finds the rate
  EXPECT_EQ(result.flows[0].timeouts, 0u);
}

TEST(BulkFlows, TwoShareALink) {
  const SharedResult result = run_flows({{.from = 0, .to = 4}, {.from = 1, .to = 5}});
  EXPECT_NEAR(result.flows[0].bit_s + result.flows[1].bit_s, 100e6, 8e6);
  EXPECT_GT(std::min(result.flows[0].bit_s, result.flows[1].bit_s), 25e6);
}

TEST(BulkFlows, KeepToARate) {
  const SharedResult result = run_flows({{.from = 0, .to = 4, .bit_s = 20'000'000}});
  EXPECT_NEAR(result.flows[0].bit_s, 20e6, 1e6);
  EXPECT_EQ(result.flows[0].lost, 0u);
}

TEST(BulkFlows, TimeOutWhereNothingComesBack) {
  sim::Options network;
  const sim::Picos begin = sim::kPicosPerSecond / 2;
  network.faults.push_back({.port = 2, .start = begin, .duration = begin});
  const SharedResult result = run_flows({{.from = 1, .to = 4}}, network);
  EXPECT_GE(result.flows[0].timeouts, 1u) << result.flows[0].packets << " packets";
  EXPECT_LT(result.flows[0].bit_s, 95e6);
  EXPECT_GT(result.flows[0].bit_s, 60e6);
}

}  // namespace
}  // namespace alm::harness

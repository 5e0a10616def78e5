// Algorithms of MPI libraries over TCP, on networks where it is known what must come out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "harness/tcp_test_run.h"

namespace alm::harness {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using topology::Cluster;

constexpr sim::Picos kMilli = sim::kPicosPerSecond / 1000;

constexpr const char* kAlgorithms[] = {"openmpi:linear",   "openmpi:linear-sync:reqs=3",
                                       "openmpi:pairwise", "openmpi:bruck",
                                       "mpich:scattered",  "mpich:pairwise",
                                       "mpich:bruck:k=3",  "query"};

// Two hosts, 1000 bytes: a frame of 32 + 1000 + 66 bytes over two links of 1 Gbit/s.
TEST(TcpRanks, AMessageOverAnIdleNetworkIsExact) {
  const Cluster cluster = one_switch(2, 1000, 100);
  const SimResult result = run(over_tcp(cluster, "openmpi:pairwise", 1000));
  EXPECT_EQ(result.exchange_time.front(), 2 * (32 + 1000 + 66) * 8'000);
  EXPECT_EQ(result.counters.data_sent, 2u);
  EXPECT_EQ(result.dropped, 0u);
}

// 60,000 bytes are 42 segments: ten leave at once, then two for each that is acknowledged.
TEST(TcpRanks, LongMessagesOpenTheirWindow) {
  Cluster cluster = one_switch(2, 1000, 1000);
  for (topology::Link& link : cluster.links) link.latency_us = 5000;
  const SimResult result = run(over_tcp(cluster, "openmpi:pairwise", 60'000));
  // 10, 20 and 12 segments, in three flights of 10 ms, with a round trip between them.
  EXPECT_NEAR(static_cast<double>(result.exchange_time.front()) / kMilli, 50, 1.5);
  EXPECT_EQ(result.counters.data_sent, 2u * 42);
}

// Beyond 64 KB the first part waits for an answer: one round trip more.
TEST(TcpRanks, TheRestOfALongMessageWaitsForTheReceiver) {
  Cluster cluster = one_switch(2, 10'000, 1000);
  for (topology::Link& link : cluster.links) link.latency_us = 5000;
  SimRequest wanted = over_tcp(cluster, "openmpi:pairwise", 65'000);
  wanted.tcp->config.initial_window = 1000;
  const SimResult whole = run(wanted);
  wanted.bytes = 66'000;
  const SimResult parts = run(wanted);
  EXPECT_NEAR(static_cast<double>(whole.exchange_time.front()) / kMilli, 10, 0.5);
  EXPECT_NEAR(static_cast<double>(parts.exchange_time.front()) / kMilli, 30, 0.5);
}

TEST(TcpRanks, EveryAlgorithmEndsOnEveryNetwork) {
  const Cluster deep = topology::build_tree({.groups = {4, 3}, .host_queue_packets = 200});
  const Cluster shallow = topology::build_tree({.groups = {4, 3},
                                                .uplink_mbit_s = 100,
                                                .host_queue_packets = 3,
                                                .uplink_queue_packets = 3,
                                                .core_queue_packets = 3});
  for (const Cluster* cluster : {&deep, &shallow}) {
    for (const char* algorithm : kAlgorithms) {
      for (const tcp::Control control :
           {tcp::Control::kNewReno, tcp::Control::kCubic, tcp::Control::kDctcp}) {
        SimRequest wanted = over_tcp(*cluster, algorithm, 30'000);
        wanted.tcp->config.control = control;
        wanted.exchanges = 2;
        const SimResult result = run(wanted);
        ASSERT_EQ(result.exchange_time.size(), 2u) << algorithm;
        EXPECT_THAT(result.rank_end, Each(testing::Gt(0)));
        if (cluster == &shallow) continue;
        EXPECT_EQ(result.tcp.timeouts, 0u) << algorithm;
      }
    }
  }
}

TEST(TcpRanks, LongMessagesOfEveryAlgorithmCome) {
  const Cluster cluster = topology::build_tree({.groups = {3, 3}});
  for (const char* algorithm : kAlgorithms) {
    SimRequest wanted = over_tcp(cluster, algorithm, 300'000);
    wanted.exchanges = 2;
    wanted.together = false;
    EXPECT_EQ(run(wanted).exchange_time.size(), 2u) << algorithm;
  }
}

TEST(TcpRanks, RunsRepeatExactly) {
  const Cluster cluster = one_switch(8, 100, 10);
  SimRequest wanted = over_tcp(cluster, "openmpi:linear", 20'000);
  wanted.exchanges = 3;
  wanted.jitter = {sim::kPicosPerMicro * 20, 5};
  const SimResult one = run(wanted), other = run(wanted);
  EXPECT_EQ(one.exchange_time, other.exchange_time);
  EXPECT_EQ(one.events, other.events);
  EXPECT_EQ(one.tcp.timeouts, other.tcp.timeouts);
}

TEST(TcpRanks, MarksOfSwitchesSpareLosses) {
  Cluster cluster = one_switch(9, 1000, 60);
  for (topology::Link& link : cluster.links) link.ecn_packets = 20;
  SimRequest wanted = over_tcp(cluster, "openmpi:linear", 1'000'000);
  wanted.bytes = 0;
  wanted.bytes_of = [](std::uint32_t from, std::uint32_t to) {
    return to == 0 && from <= 2 ? 3'000'000u : 0u;
  };
  wanted.tcp->config.control = tcp::Control::kCubic;
  const SimResult cubic = run(wanted);
  EXPECT_GT(cubic.dropped, 0u);
  wanted.tcp->config.control = tcp::Control::kDctcp;
  const SimResult dctcp = run(wanted);
  EXPECT_EQ(dctcp.dropped, 0u);
  EXPECT_GT(dctcp.tcp.marked, 100u);
  EXPECT_LT(dctcp.exchange_time.front(), cubic.exchange_time.front() * 11 / 10);
  // Two links' worth of data through one: near its rate.
  const double least = 6'000'000.0 * 1514 / 1448 * 8 / 1e9;
  EXPECT_LT(static_cast<double>(dctcp.exchange_time.front()) / sim::kPicosPerSecond, 1.1 * least);
}

TEST(TcpRanks, WhatCannotBeSimulatedIsRefused) {
  const Cluster cluster = one_switch(4, 100, 10);
  const auto refused = [&](SimRequest wanted) {
    const auto result = simulate(wanted);
    EXPECT_FALSE(result);
    return result ? std::string() : result.error().message;
  };
  EXPECT_THAT(refused(over_tcp(cluster, "openmpi", 10)), HasSubstr("openmpi:linear"));
  SimRequest uneven = over_tcp(cluster, "openmpi:bruck", 10);
  uneven.bytes_of = [](std::uint32_t, std::uint32_t) { return 1; };
  EXPECT_THAT(refused(uneven), HasSubstr("combines blocks, which must be equal"));
  SimRequest crowded = over_tcp(cluster, "openmpi:linear", 10);
  crowded.hosts = {{0}, {0}, {1}};
  EXPECT_THAT(refused(crowded), HasSubstr("over TCP every host has one rank"));
}

}  // namespace
}  // namespace alm::harness

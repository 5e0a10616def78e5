// Incast as published: what TCP does when many send to one.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "harness/tcp_test_run.h"

namespace alm::harness {
namespace {

using base::kMicrosecond;
using base::kMillisecond;
using topology::Cluster;

// The stacks of these papers: NewReno with SACK, nothing found by time, no probes, two or three
// segments at first.
tcp::Config of_2009() {
  tcp::Config out;
  out.control = tcp::Control::kNewReno;
  out.segment_bytes = 0;
  out.rack = false;
  out.initial_window = 3;
  return out;
}

// Vasudevan et al. (SIGCOMM 2009): a client reads blocks of 1 MB, a part from each server, over 1
// Gbit/s; a switch of 32 KB at the port.
double goodput(std::uint32_t servers, base::Nanos rto_min) {
  const Cluster cluster = one_switch(servers + 1, 1000, 22);
  SimRequest wanted = over_tcp(cluster, "query", 0);
  wanted.bytes_of = [=](std::uint32_t from, std::uint32_t to) {
    return to == 0 && from > 0 ? (1u << 20) / servers : 0u;
  };
  wanted.tcp->config = of_2009();
  wanted.tcp->config.rto_min = rto_min;
  wanted.exchanges = 10;
  wanted.jitter = {10 * sim::kPicosPerMicro, 1};
  const SimResult result = run(wanted);
  const auto total =
      std::accumulate(result.exchange_time.begin(), result.exchange_time.end(), sim::Picos{0});
  return 10.0 * (1 << 20) * 8 / 1e9 / (static_cast<double>(total) / sim::kPicosPerSecond);
}

TEST(Incast, ALongMinimumTimeoutLosesNineTenthsOfTheGoodput) {
  EXPECT_GT(goodput(1, 200 * kMillisecond), 0.9);
  for (const std::uint32_t servers : {4u, 8u, 16u}) {
    EXPECT_LT(goodput(servers, 200 * kMillisecond), 0.1) << servers;
    EXPECT_GT(goodput(servers, 200 * kMicrosecond), 0.8) << servers;
  }
}

// DCTCP (SIGCOMM 2010), section 4.2.1: 41 hosts, each asks every other for 25 KB; 4 MB shared by
// dynamic thresholds (experiments/dctcp-all-to-all).
SimRequest all_to_all(const Cluster& cluster) {
  SimRequest out = over_tcp(cluster, "query", 25'000);
  out.tcp->config = of_2009();
  out.exchanges = 3;
  out.tcp->config.delayed_ack = 5 * kMillisecond;
  out.jitter = {10 * sim::kPicosPerMicro, 1};
  return out;
}

Cluster dctcp_cluster() {
  Cluster out = one_switch(41, 1000, 2642);
  out.switches[0].architecture = topology::Architecture::kShared;
  out.switches[0].buffer_packets = 2642;
  out.switches[0].buffer_alpha = 0.21;
  for (topology::Link& link : out.links) {
    link.latency_us = 10;
    link.ecn_packets = 20;
  }
  return out;
}

double share(const SimResult& result) {
  const auto& waiting = result.tcp.waiting_receivers;
  const auto sum = std::accumulate(waiting.begin(), waiting.end(), 0u);
  return sum / (41.0 * static_cast<double>(waiting.size()));
}

TEST(Incast, MoreThanHalfOfTheQueriesTimeOutUnlessSwitchesMark) {
  const Cluster cluster = dctcp_cluster();
  for (const base::Nanos rto_min : {10 * kMillisecond, 200 * kMillisecond}) {
    SimRequest wanted = all_to_all(cluster);
    wanted.tcp->config.rto_min = rto_min;
    EXPECT_GT(share(run(wanted)), 0.55) << rto_min;
    wanted.tcp->config.control = tcp::Control::kDctcp;
    EXPECT_EQ(share(run(wanted)), 0) << rto_min;
  }
}

}  // namespace
}  // namespace alm::harness

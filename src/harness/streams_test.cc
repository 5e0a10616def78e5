#include "harness/streams.h"

#include <gtest/gtest.h>

#include <numeric>

#include "topology/generate.h"

namespace alm::harness {
namespace {

StreamRequest request(const topology::Cluster& cluster, std::vector<Stream> streams) {
  StreamRequest out;
  out.cluster = &cluster;
  out.streams = std::move(streams);
  out.message_bytes = 1536;
  out.packet_bytes = 1536;
  out.warm_up = sim::kPicosPerSecond / 1000;
  out.duration = sim::kPicosPerSecond / 100;
  out.network.frame_bytes = 1536;
  return out;
}

double sum(const base::Result<StreamResult>& result) {
  EXPECT_TRUE(result.ok()) << (result ? "" : result.error().message);
  if (!result) return 0;
  return std::accumulate(result.value().bit_s.begin(), result.value().bit_s.end(), 0.0);
}

TEST(Streams, OneFillsItsLinkAndTheGapHoldsItBack) {
  const topology::Cluster cluster = topology::generate("myrinet:4").value();
  StreamRequest one = request(cluster, {{0, 8}});
  EXPECT_NEAR(sum(simulate_streams(one)), 1.28e9, 0.02e9);
  one.network.costs.gap = 20'480 * sim::kPicosPerNano;  // 1536 bytes at 0.6 Gbit/s
  EXPECT_NEAR(sum(simulate_streams(one)), 0.6e9, 0.002e9);
  one.message_bytes = 2048;  // two packets, one of them short: 1024 bytes per gap
  EXPECT_NEAR(sum(simulate_streams(one)), 0.4e9, 0.002e9);
}

// 001 Figure 6: four streams each on two trunks; alternate routes use more.
TEST(Streams, FourShareATrunkUnlessTheyAlternate) {
  const topology::Cluster cluster = topology::generate("myrinet:4").value();
  std::vector<Stream> streams;
  for (std::uint32_t i = 0; i < 8; ++i) streams.push_back({i, i + 8});
  StreamRequest all = request(cluster, streams);
  all.network.costs.gap = 20'480 * sim::kPicosPerNano;
  all.network.rule = routing::Rule::kFm1;
  const double one_route = sum(simulate_streams(all));
  EXPECT_NEAR(one_route, 2 * 1.28e9, 0.03e9);
  all.network.rule = routing::Rule::kAlternate;
  EXPECT_GT(sum(simulate_streams(all)), 1.3 * one_route);
}

TEST(Streams, WhatCannotBeIsRefused) {
  const topology::Cluster cluster = topology::generate("myrinet:4").value();
  EXPECT_FALSE(simulate_streams(request(cluster, {})).ok());
  EXPECT_FALSE(simulate_streams(request(cluster, {{0, 0}})).ok());
  EXPECT_FALSE(simulate_streams(request(cluster, {{0, 16}})).ok());
  EXPECT_FALSE(simulate_streams(request(cluster, {{0, 1}, {0, 2}})).ok());
}

}  // namespace
}  // namespace alm::harness

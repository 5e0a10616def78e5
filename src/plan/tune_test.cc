// The windows of 000 (section 4, Figures 7-10) with acknowledgements counted, and what true
// switches take.
#include "plan/tune.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "topology/cluster.h"
#include "topology/generate.h"

namespace alm::plan {
namespace {

using topology::Cluster;
using topology::TreeNode;
using topology::TreeSpec;

std::vector<base::HostId> everybody(const Cluster& cluster) {
  std::vector<base::HostId> out;
  for (std::uint32_t host = 0; host < cluster.host_count(); ++host) out.push_back({host});
  return out;
}

Tuning tune_all(const Cluster& cluster) { return tune(cluster, everybody(cluster)); }

// As in the paper: the leaf switches are input-buffered.
Cluster input_buffered(Cluster cluster) {
  for (topology::Switch& node : cluster.switches) {
    if (node.name != "core") node.architecture = topology::Architecture::kInput;
  }
  return cluster;
}

Cluster tam(std::uint32_t d1, std::uint32_t d2) {
  return input_buffered(build_tree(TreeSpec{.groups = std::vector<std::uint32_t>(d2, d1)}));
}

// Two leaves of four hosts; only the queues before and behind the uplinks are short.
Cluster limited_by_uplinks(double uplink_mbit_s, std::uint32_t queue) {
  return build_tree(TreeSpec{.groups = {4, 4},
                             .uplink_mbit_s = uplink_mbit_s,
                             .host_queue_packets = 1000,
                             .uplink_queue_packets = queue,
                             .core_queue_packets = queue});
}

void lengthen(Cluster& cluster) {
  for (topology::Link& link : cluster.links) link.latency_us = 1000;
}

TEST(Tune, PublishedWindows) {
  EXPECT_EQ(tune_all(tam(8, 2)).window_with_acks, 5u);
  EXPECT_EQ(tune_all(tam(8, 3)).window_with_acks, 4u);
  EXPECT_EQ(tune_all(tam(8, 4)).window_with_acks, 3u);
  // 45 / (2 * 4.70) = 4.79: the paper lists 5, which no floor gives; its other three are floors.
  EXPECT_EQ(tune_all(tam(6, 4)).window_with_acks, 4u);
}

// Eq 4 without acknowledgements would give 10, 8, 9 and 7 packets. 2.2 are under way; of tam-8x4's,
// 5 packets give 98.2 % of the limit at 200 KB, and with 7 heads of lines wait and some are lost.
TEST(Tune, InputBufferedSwitchesTakeWhatIsEnough) {
  for (const auto& [d1, d2] : {std::pair{8u, 2u}, {8u, 3u}, {6u, 4u}, {8u, 4u}}) {
    EXPECT_EQ(tune_all(tam(d1, d2)).window_packets, 5u) << d1 << " x " << d2;
  }
  const Tuning tuning = tune_all(tam(8, 4));
  EXPECT_NEAR(tuning.nu, 8.0 * 24 / 31, 1e-12);
  EXPECT_EQ(tuning.contended_port, "leaf0 -> core");
  EXPECT_EQ(tune_all(build_tree(TreeSpec{.groups = {16}})).window_packets, 43u);
  EXPECT_EQ(tune_all(tam(16, 1)).window_packets, 4u);
}

TEST(Tune, TheReadyMadeFileAgrees) {
  const auto cluster = topology::load_cluster(ALM_SOURCE_DIR "/clusters/tam-8x4.toml");
  ASSERT_TRUE(cluster.ok());
  EXPECT_EQ(tune_all(cluster.value()).window_packets, 4u);  // its switches cut through
  EXPECT_EQ(tune_all(cluster.value()).window_with_acks, 3u);
}

TEST(Tune, AnOutputQueuedUplinkThatCarriesEverythingDoesNotCount) {
  TreeSpec spec{.groups = {8, 8, 8, 8}};
  EXPECT_EQ(tune_all(build_tree(spec)).contended_port, "leaf0 -> h0");
  EXPECT_EQ(tune_all(build_tree(spec)).window_packets, 43u);
  spec.uplink_mbit_s = 799;  // less than eight hosts at 100
  EXPECT_EQ(tune_all(build_tree(spec)).window_packets, 7u);
  spec.uplink_mbit_s = 800;
  spec.uplink_queue_packets = 7;  // less than a packet per input
  // 2.2 are under way: three keep a host busy, and where queues are that short Eq 4 allows 1.
  EXPECT_EQ(tune_all(build_tree(spec)).window_packets, 5u);
}

TEST(Tune, OneSwitchCountsAtTheHostPort) {
  const Tuning tuning = tune_all(build_tree(TreeSpec{.groups = {16}}));
  EXPECT_EQ(tuning.nu, 1.0);
  EXPECT_EQ(tuning.window_packets, 43u);
  EXPECT_EQ(tuning.window_with_acks, 21u);
  EXPECT_EQ(tuning.contended_port, "leaf0 -> h0");
}

TEST(Tune, AnUplinkThatIsTheLimitCountsWithEverybodyBelowIt) {
  const Tuning tuning = tune_all(
      build_tree(TreeSpec{.groups = {8, 8, 8, 8}, .uplink_mbit_s = 500, .core_queue_packets = 45}));
  EXPECT_EQ(tuning.window_packets, 4u);
  EXPECT_EQ(tuning.window_with_acks, 3u);
}

// Four hosts share the places before the uplink; 2.63 packets of each are under way (shallow-4x2).
// Simulated on true switches, 3 packets give 95 and 97.6 % of the limit at 20 and 100 KB, 2 packets
// 77 and 78 %, and with 4 some are lost.
TEST(Tune, AnUplinkThatIsTheLimitHasPlacesForWhatIsNotUnderWay) {
  for (const auto& [queue, window] : {std::pair{10u, 3u}, {11u, 4u}, {2u, 3u}, {100u, 15u}}) {
    const Tuning tuning = tune_all(limited_by_uplinks(200, queue));
    EXPECT_EQ(tuning.window_packets, window) << queue;
    EXPECT_EQ(tuning.window_packets_min, 3u);
    EXPECT_EQ(tuning.warnings.empty(), queue > 2);
  }
}

// Four packets are under way at the hosts' rate, 1.75 at the uplink's: with what half of its places
// hold for each of four hosts that is all that may be outstanding where blocks are single packets.
// With two places longer blocks have no more.
TEST(Tune, SinglePacketsDoNotFillAnUplinkThatIsTheLimit) {
  for (const auto& [queue, window] : {std::pair{10u, 3u}, {2u, 0u}, {100u, 0u}}) {
    const Tuning tuning = tune_all(limited_by_uplinks(100, queue));
    EXPECT_EQ(tuning.single_window_packets, window) << queue;
    EXPECT_LT(window, tuning.window_packets);
  }
  EXPECT_EQ(tune_all(tam(8, 4)).single_window_packets, 0u);  // no port is the limit
}

// Eq 4 allows what covers the latency: 40 / 1.07 packets where 10 are under way.
TEST(Tune, NeverBelowTheLatencyWhereEq4AllowsIt) {
  Cluster cluster = build_tree(TreeSpec{.groups = {4, 4, 4, 4}, .uplink_mbit_s = 100});
  for (topology::Link& link : cluster.links) {
    link.latency_us = 300;
    if (!cluster.is_host(link.from)) link.queue_up_packets = link.queue_down_packets = 48;
  }
  const Tuning tuning = tune_all(cluster);
  EXPECT_EQ(tuning.window_packets_min, 14u);
  EXPECT_GE(tuning.window_packets, tuning.window_packets_min);
}

// Half is left for packets that meet there by chance; two packets may always wait beyond the two
// that keep a host busy, as far as Eq 4 allows it.
TEST(Tune, AShortQueueIsNotFilled) {
  for (const auto& [queue, window] :
       {std::pair{24u, 24u}, {23u, 11u}, {10u, 5u}, {4u, 4u}, {2u, 2u}}) {
    const Tuning tuning =
        tune_all(build_tree(TreeSpec{.groups = {8}, .host_queue_packets = queue}));
    EXPECT_EQ(tuning.window_packets, window);
  }
}

// Queues of one packet that cannot overflow.
TEST(Tune, ALosslessNetworkKeepsHostsBusy) {
  for (const bool waits : {false, true}) {
    Cluster cluster = topology::generate("myrinet:4").value();
    for (topology::Switch& node : cluster.switches) {
      if (!waits) node.flow_control = topology::FlowControl::kDrop;
    }
    const Tuning tuning = tune_all(cluster);
    EXPECT_EQ(tuning.window_packets, waits ? 4u : 2u);
    EXPECT_TRUE(tuning.warnings.empty());
  }
}

TEST(Tune, OnlyParticipantsCount) {
  const Cluster cluster = tam(8, 4);
  const std::vector<base::HostId> four = {{0}, {8}, {16}, {24}};
  EXPECT_NEAR(tune(cluster, four).nu, 1.0, 1e-12);
  const std::vector<base::HostId> one_leaf = {{0}, {1}, {2}, {3}};
  EXPECT_EQ(tune(cluster, one_leaf).window_packets, 4u);
  const std::vector<base::HostId> alone = {{3}};
  EXPECT_EQ(tune(cluster, alone).window_packets, 1u);
}

TEST(Tune, UnequalLeavesTakeTheWorstPort) {
  // n(p-n)/(p-1) with p = 17: 10 -> 4.375, 4 -> 3.25, 3 -> 2.625.
  const Tuning tuning = tune_all(input_buffered(build_tree(TreeSpec{.groups = {4, 10, 3}})));
  EXPECT_NEAR(tuning.nu, 4.375, 1e-12);
  EXPECT_EQ(tuning.contended_port, "leaf1 -> core");
}

TEST(Tune, DeepTreesTakeTheWorstLevel) {
  TreeNode leaf;
  leaf.hosts = 4;
  leaf.uplink.queue_up_packets = 100;
  TreeNode middle;
  middle.children = {leaf, leaf};
  middle.uplink.queue_up_packets = 100;
  middle.node.architecture = topology::Architecture::kInput;
  TreeNode root;
  root.children = {middle, middle, middle};
  const Tuning tuning = tune_all(build_tree(root));
  EXPECT_NEAR(tuning.nu, 8.0 * 16 / 23, 1e-12);
  EXPECT_EQ(tuning.contended_port, "mid0 -> core");
  EXPECT_EQ(tuning.window_with_acks, 8u);
  EXPECT_EQ(tuning.window_packets, 5u);  // heads of lines wait: not 17, but what is enough
}

// 24.8 packets cross the core in a step; all of them lie in one buffer.
TEST(Tune, ASharedBufferCountsForAllItsPorts) {
  Cluster cluster = build_tree(TreeSpec{.groups = {8, 8, 8, 8}});
  cluster.switches.back().buffer_packets = 150;
  const Tuning tuning = tune_all(cluster);
  EXPECT_EQ(tuning.window_packets, 6u);
  EXPECT_EQ(tuning.contended_port, "buffer of core");
}

// What each rank may send without any window: ports that cannot fill up do not count,
// input-buffered or not.
TEST(Tune, ASmallExchangeNeedsNoWindow) {
  EXPECT_EQ(tune_all(tam(8, 4)).burst_packets, 43u);  // the host ports
  Cluster shared = tam(8, 4);
  shared.switches.back().buffer_packets = 820;
  EXPECT_EQ(tune_all(shared).burst_packets, 33u);
  EXPECT_EQ(tune_all(build_tree(TreeSpec{
                         .groups = {8, 8, 8, 8}, .uplink_mbit_s = 500, .core_queue_packets = 45}))
                .burst_packets,
            7u);
}

// Four hosts on each of two leaves, two spines: half of what crosses on each trunk.
TEST(Tune, TrunksOfALeafShareItsTraffic) {
  Cluster cluster;
  for (int i = 0; i < 8; ++i) cluster.hosts.push_back({"h" + std::to_string(i), "", ""});
  for (const char* name : {"leaf0", "leaf1", "spine0", "spine1"}) {
    cluster.switches.push_back({.name = name});
  }
  const auto join = [&](std::uint32_t from, std::uint32_t to, double rate, std::uint32_t queue) {
    cluster.links.push_back({.from = {from},
                             .to = {to},
                             .rate_up_mbit_s = rate,
                             .rate_down_mbit_s = rate,
                             .queue_up_packets = queue,
                             .queue_down_packets = queue});
  };
  for (std::uint32_t i = 0; i < 8; ++i) join(i, 8 + i / 4, 1000, 100);
  for (std::uint32_t leaf : {8u, 9u}) {
    join(leaf, 10, 2000, 32);
    join(leaf, 11, 2000, 32);
  }
  const Tuning tuning = tune_all(cluster);
  EXPECT_NEAR(tuning.nu, 4.0 * 4 / 7 / 2, 1e-12);
  EXPECT_EQ(tuning.window_packets, 28u);
}

TEST(Tune, PacketTimeAndLatencyFollowTheFrame) {
  const Tuning tuning = tune_all(tam(8, 4));
  EXPECT_EQ(tuning.host_rate_mbit_s, 100);
  EXPECT_NEAR(tuning.packet_time_us, 1514 * 8 / 100.0, 1e-9);
  // Two host links and two uplinks, each storing the frame: 2.2 packet times.
  EXPECT_NEAR(tuning.latency_us, 2.2 * tuning.packet_time_us, 1e-9);
  EXPECT_EQ(tuning.window_packets_min, 3u);
  EXPECT_TRUE(tuning.warnings.empty());
}

TEST(Tune, CutThroughSwitchesDoNotStoreTheFrame) {
  Cluster cluster = tam(8, 1);
  cluster.switches[0].switching = topology::Switching::kCutThrough;
  const Tuning tuning = tune_all(cluster);
  EXPECT_NEAR(tuning.latency_us, tuning.packet_time_us, 1e-9);
}

// Eq 4 counts packets that meet only by chance where they are spread over a long route
// (docs/adr/0092).
TEST(Tune, WhatIsUnderWayIsSentOverALongRoute) {
  Cluster cluster = tam(8, 4);
  lengthen(cluster);
  EXPECT_EQ(tune_all(cluster).window_packets_min, 36u);  // 4000 us + 2.2 packets of 121 us
  EXPECT_EQ(tune_all(cluster).window_packets_max, 7u);
  EXPECT_EQ(tune_all(cluster).window_packets, 38u);
  for (topology::Link& link : cluster.links) {
    if (cluster.is_host(link.from)) link.queue_down_packets = 7;
  }
  const Tuning tuning = tune_all(cluster);
  EXPECT_EQ(tuning.window_packets, 38u);
  ASSERT_EQ(tuning.warnings.size(), 1u);
  EXPECT_THAT(tuning.warnings[0],
              testing::HasSubstr("38 packets of each host are under way over 4266 us"));
  EXPECT_THAT(tuning.warnings[0],
              testing::HasSubstr("at leaf0 -> h0 (nu = 1.00) surely holds 7 of each"));
}

TEST(Tune, AnUplinkThatIsTheLimitHasLessUnderWay) {
  Cluster cluster = build_tree(TreeSpec{
      .groups = {8, 8}, .uplink_mbit_s = 100, .uplink_queue_packets = 8, .core_queue_packets = 8});
  lengthen(cluster);
  const Tuning tuning = tune_all(cluster);  // 4.27 times slower: 64 / 15 hosts share it
  EXPECT_EQ(tuning.window_packets_max, 1u);
  EXPECT_EQ(tuning.window_packets, 9u);
  ASSERT_EQ(tuning.warnings.size(), 1u);
  EXPECT_THAT(tuning.warnings[0], testing::HasSubstr("9 packets of each host are under way"));
  EXPECT_EQ(tuning.burst_packets, 1u);
}

// Eq 4 allows less than keeps a host busy, and more than the uplink lets it have under way.
TEST(Tune, QueuesThatHoldWhatIsUnderWayAreNotWarnedOf) {
  Cluster cluster = build_tree(TreeSpec{.groups = {8, 8},
                                        .uplink_mbit_s = 100,
                                        .uplink_queue_packets = 100,
                                        .core_queue_packets = 100});
  lengthen(cluster);
  const Tuning tuning = tune_all(cluster);
  EXPECT_EQ(tuning.window_packets_max, 23u);
  EXPECT_EQ(tuning.window_packets_min, 38u);
  EXPECT_EQ(tuning.window_packets, 11u);
  EXPECT_TRUE(tuning.warnings.empty());
}

TEST(Tune, AQueueWithoutAPlaceForEachHostHoldsNotOne) {
  const Tuning tuning = tune_all(limited_by_uplinks(200, 2));
  ASSERT_EQ(tuning.warnings.size(), 1u);
  EXPECT_THAT(tuning.warnings[0], testing::HasSubstr("surely holds not one of each"));
}

Tuning on_one_switch(double rate_mbit_s, std::uint32_t queue, std::uint32_t mtu) {
  Cluster cluster =
      build_tree(TreeSpec{.groups = {8}, .host_mbit_s = rate_mbit_s, .host_queue_packets = queue});
  cluster.framing.mtu_bytes = mtu;
  return tune_all(cluster);
}

TEST(Tune, GrainGrowsWithTheRateWithinWindowAndKernel) {
  EXPECT_EQ(on_one_switch(100, 1000, 1500).grain_packets, 1u);
  EXPECT_EQ(on_one_switch(1000, 1000, 1500).grain_packets, 1u);
  EXPECT_EQ(on_one_switch(10'000, 1000, 1500).grain_packets, 10u);
  EXPECT_EQ(on_one_switch(100'000, 1000, 1500).grain_packets, 44u);  // 64 KiB per send
  EXPECT_EQ(on_one_switch(100'000, 1000, 9000).grain_packets, 7u);
  EXPECT_EQ(on_one_switch(100'000, 40, 1500).grain_packets, 10u);  // four trains per window
  EXPECT_EQ(on_one_switch(100'000, 3, 1500).grain_packets, 1u);
}

// A train is not spread over the route.
TEST(Tune, TrainsAreNoLongerOverALongRoute) {
  Cluster cluster =
      build_tree(TreeSpec{.groups = {8}, .host_mbit_s = 100'000, .host_queue_packets = 12});
  lengthen(cluster);
  const Tuning tuning = tune_all(cluster);
  EXPECT_GT(tuning.window_packets, 1000u);
  EXPECT_EQ(tuning.grain_packets, 3u);
}

TEST(Tune, TheSlowestHostSetsThePace) {
  Cluster cluster = tam(4, 1);
  cluster.links[2].rate_down_mbit_s = 10;
  EXPECT_EQ(tune_all(cluster).host_rate_mbit_s, 10);
}

}  // namespace
}  // namespace alm::plan

#include "model/structural.h"

#include <gtest/gtest.h>

#include <vector>

namespace alm::model {
namespace {

constexpr std::uint32_t kHeader = 24;
constexpr double kFrameS = 1514 * 8 / 100e6;

std::vector<base::HostId> first_hosts(std::uint32_t count) {
  std::vector<base::HostId> hosts;
  for (std::uint32_t i = 0; i < count; ++i) hosts.push_back({i});
  return hosts;
}

ExchangeShape shuffle_of(std::uint32_t ranks) {
  return {.ranks = ranks, .phases = {{.complete = true, .rounds = {}}}};
}

ExchangeShape shift(std::uint32_t ranks) {
  ExchangeShape shape{.ranks = ranks, .phases = {{.rounds = {}, .interleaved = false}}};
  for (std::uint32_t distance = 1; distance < ranks; ++distance) {
    Round& round = shape.phases.front().rounds.emplace_back();
    for (std::uint32_t r = 0; r < ranks; ++r)
      round.messages.push_back({r, (r + distance) % ranks, 1});
  }
  return shape;
}

// Store-and-forward: the last of 3 x 2 full packets is sent, and then forwarded once.
TEST(Structural, AShuffleTakesWhatTheLinksNeedAndTheLastPacketsWay) {
  const auto cluster = topology::build_one_switch(4);
  const auto hosts = first_hosts(4);
  const LinkBound links(cluster, hosts, kHeader);
  const Demand demand = demand_of(shuffle_of(4), links, 2 * 1448);
  EXPECT_NEAR(demand.links_s, 6 * kFrameS, 1e-12);
  EXPECT_EQ(demand.packets, 6);
  EXPECT_EQ(demand.pace_s, 0);
}

TEST(Structural, EveryRoundWaitsForItsLastPacket) {
  const auto cluster = topology::build_one_switch(4);
  const auto hosts = first_hosts(4);
  const LinkBound links(cluster, hosts, kHeader);
  const Demand demand = demand_of(shift(4), links, 1448);
  EXPECT_EQ(demand.rounds, 3);
  EXPECT_NEAR(demand.turns_s, 3 * kFrameS, 1e-12);
  EXPECT_NEAR(demand.rounds_s, demand.links_s, 1e-12);
  EXPECT_GT(expected(demand, shift(4)).sigma,
            expected(demand_of(shuffle_of(4), links, 1448), shuffle_of(4)).sigma);
}

TEST(Structural, RoundsOverOneUplinkAddUp) {
  const auto cluster = topology::build_tree(topology::TreeSpec{{2, 2}, 100, 100});
  const auto hosts = first_hosts(4);
  const LinkBound links(cluster, hosts, kHeader);
  const Demand demand = demand_of(shift(4), links, 1448);
  // Distance 2 sends both of a leaf over its uplink at once, 1 and 3 one of them.
  EXPECT_NEAR(demand.rounds_s, 4 * kFrameS, 1e-12);
  EXPECT_NEAR(demand.links_s, 4 * kFrameS, 1e-12);
}

TEST(Structural, ASmallWindowSetsThePace) {
  const auto cluster = topology::build_one_switch(4);
  const auto hosts = first_hosts(4);
  const LinkBound links(cluster, hosts, kHeader);
  ExchangeShape shape = shuffle_of(4);
  shape.window_packets = 1;
  EXPECT_NEAR(demand_of(shape, links, 1448).pace_s, 3 * 2 * kFrameS, 1e-12);
  shape.burst_packets = 3;
  EXPECT_EQ(demand_of(shape, links, 1448).pace_s, 0);
}

// Both of a leaf send over its uplink in the first step, none in the second.
TEST(Structural, StepsThatAskALinkForMoreAreUneven) {
  const auto cluster = topology::build_tree(topology::TreeSpec{{2, 2}, 100, 100});
  const auto hosts = first_hosts(4);
  const LinkBound links(cluster, hosts, kHeader);
  ExchangeShape shape = shuffle_of(4);
  auto& steps = shape.phases.front().steps;
  steps.push_back({{{0, 2, 1}, {1, 3, 1}, {2, 0, 1}, {3, 1, 1}}});
  steps.push_back({{{0, 3, 1}, {1, 2, 1}, {2, 1, 1}, {3, 0, 1}}});
  steps.push_back({{{0, 1, 1}, {1, 0, 1}, {2, 3, 1}, {3, 2, 1}}});
  // The uplink needs 4 frames in all, the steps 2 + 2 and 1 of the host links.
  const Demand demand = demand_of(shape, links, 1448);
  EXPECT_NEAR(demand.links_s, 4 * kFrameS, 1e-12);
  EXPECT_NEAR(demand.steps_s, 5 * kFrameS, 1e-12);
  EXPECT_NEAR(demand.uneven(), 0.25, 1e-12);
  EXPECT_GT(demand.work_s(), demand.links_s);
  EXPECT_EQ(demand_of(shuffle_of(4), links, 1448).uneven(), 0);
}

// Two hosts on each side of a link of 10 ms.
topology::Cluster two_far_leaves() {
  auto cluster = topology::build_tree(topology::TreeSpec{{2, 2}, 100, 100});
  for (topology::Link& link : cluster.links) {
    if (!cluster.is_host(link.from)) link.latency_us = 5000;
  }
  return cluster;
}

// Each to the two of the other leaf; and to the one of its own, at the same time.
ExchangeShape between_sites(double paced) {
  ExchangeShape shape{.ranks = 4, .phases = {{}, {.alongside = true, .windowed = false}}};
  shape.phases[0].windowed = false;
  shape.phases[0].paced = paced;
  auto& far = shape.phases[0].rounds.emplace_back().messages;
  auto& near = shape.phases[1].rounds.emplace_back().messages;
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    far.push_back({rank, (rank < 2 ? 2u : 0u), 1});
    far.push_back({rank, (rank < 2 ? 3u : 1u), 1});
    near.push_back({rank, rank ^ 1u, 1});
  }
  return shape;
}

TEST(Structural, PhasesAlongsideTakeWhatTheirMessagesNeedTogether) {
  const auto cluster = two_far_leaves();
  const auto hosts = first_hosts(4);
  const LinkBound links(cluster, hosts, kHeader);
  const ExchangeShape shape = between_sites(0);
  const Demand demand = demand_of(shape, links, 10 * 1448);
  EXPECT_NEAR(demand.links_s, 40 * kFrameS, 1e-12);  // of the uplink; hosts need 30
  EXPECT_NEAR(demand.distance_s, 0.010, 1e-12);
  EXPECT_NEAR(demand.turns_s, 0.010 + 3 * kFrameS, 1e-9);
}

TEST(Structural, APaceSpreadsFarMessagesOverWhatTheExchangeNeeds) {
  const auto cluster = two_far_leaves();
  const auto hosts = first_hosts(4);
  const LinkBound links(cluster, hosts, kHeader);
  const Demand demand = demand_of(between_sites(1.5), links, 10 * 1448);
  // 20 frames of each rank, a third of the link's 60 apart by the pace, the first at once.
  EXPECT_NEAR(demand.rounds_s, (19 * 3 + 1) * kFrameS, 1e-9);
  // The latency counts once, and what it is part of is not stretched.
  const ExchangeShape paced = between_sites(1.5);
  EXPECT_NEAR(expected(demand, paced).seconds, demand.rounds_s + 0.010 + 1.2 * 3 * kFrameS, 1e-9);
}

TEST(Structural, WhatIsNotPacedGathersBeforeAThinLink) {
  const auto cluster = two_far_leaves();
  const auto hosts = first_hosts(4);
  const LinkBound links(cluster, hosts, kHeader);
  ExchangeShape shape = shuffle_of(4);
  const double plain = demand_of(shape, links, 10 * 1448).work_s();
  shape.between_sites = true;
  const Demand demand = demand_of(shape, links, 10 * 1448);
  EXPECT_NEAR(demand.work_s(), 1.15 * plain, 1e-12);
  const auto wide = topology::build_tree(topology::TreeSpec{{2, 2}, 100, 1000});
  EXPECT_EQ(demand_of(shape, LinkBound(wide, hosts, kHeader), 10 * 1448).unpaced_s, 0);
}

TEST(Structural, AWindowWaitsForFarPacketsBeyondItsFirst) {
  const auto cluster = two_far_leaves();
  const auto hosts = first_hosts(4);
  const LinkBound links(cluster, hosts, kHeader);
  ExchangeShape shape = shuffle_of(4);
  shape.window_packets = 30;
  const double few = demand_of(shape, links, 10 * 1448).pace_s;    // 30 packets
  const double many = demand_of(shape, links, 100 * 1448).pace_s;  // 300
  EXPECT_LT(few, 0.001);
  // Two of three partners are 10 ms away.
  EXPECT_NEAR(many, 9 * 0.010 * 2 / 3 + 300 * 4 * kFrameS / 30, 1e-6);
}

TEST(Structural, WhatIsPostedInNoOrderIsExpectedToCollapse) {
  const auto cluster = topology::build_one_switch(4);
  const auto hosts = first_hosts(4);
  const LinkBound links(cluster, hosts, kHeader);
  ExchangeShape direct = shuffle_of(4);
  direct.coordinated = false;
  const Demand demand = demand_of(direct, links, 10'000);
  EXPECT_GT(expected(demand, direct).seconds, 3 * expected(demand, shuffle_of(4)).seconds);
}

}  // namespace
}  // namespace alm::model

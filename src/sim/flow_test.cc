#include "sim/flow.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "sim/flow_shares.h"
#include "topology/generate.h"

namespace alm::sim {
namespace {

using topology::Cluster;

std::vector<double> shares(std::vector<double> capacity,
                           const std::vector<std::vector<std::uint32_t>>& flows) {
  FlowClasses classes;
  for (const auto& uses : flows) classes.add(uses, 1);
  std::vector<double> rate;
  FairShares(std::move(capacity)).fill(classes, rate);
  return rate;
}

TEST(FairShares, OneLinkIsSharedEqually) {
  EXPECT_THAT(shares({12}, {{0}, {0}, {0}}), testing::ElementsAre(4, 4, 4));
}

// Bertsekas and Gallager's example: the long flow is held by the first link, the short one on the
// wide link takes what is left.
TEST(FairShares, WhatOneCannotTakeGoesToTheOthers) {
  EXPECT_THAT(shares({10, 30}, {{0, 1}, {0}, {1}}), testing::ElementsAre(5, 5, 25));
}

// Three links of 10; 0 and 1 hold two flows each, 2 holds three: 10/3 there, the rest above.
TEST(FairShares, TheTightestLinkSettlesFirst) {
  const auto rate = shares({10, 10, 10}, {{0, 2}, {1, 2}, {2}, {0}, {1}});
  EXPECT_DOUBLE_EQ(rate[0], 10.0 / 3);
  EXPECT_DOUBLE_EQ(rate[2], 10.0 / 3);
  EXPECT_DOUBLE_EQ(rate[3], 10 - 10.0 / 3);
  EXPECT_DOUBLE_EQ(rate[4], 10 - 10.0 / 3);
}

TEST(FairShares, AClassIsSoManyFlows) {
  FlowClasses classes;
  classes.add(std::vector<std::uint32_t>{0, 1}, 3);
  classes.add(std::vector<std::uint32_t>{1}, 1);
  std::vector<double> rate;
  FairShares fair({6, 20});
  for (int repeat = 0; repeat < 2; ++repeat) {  // nothing is left over from the call before
    fair.fill(classes, rate);
    EXPECT_THAT(rate, testing::ElementsAre(2, 14));
  }
}

std::uint32_t pick(std::mt19937& random, std::uint32_t below) {
  return static_cast<std::uint32_t>(random()) % below;
}

// Every flow has a full resource on which no other flow is faster, and no resource is overdrawn.
TEST(FairShares, EveryFlowHasItsBottleneck) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    const std::uint32_t resources = 2 + pick(random, 12);
    std::vector<double> capacity;
    for (std::uint32_t i = 0; i < resources; ++i) capacity.push_back(1 + pick(random, 1000));
    FlowClasses classes;
    const std::uint32_t count = 1 + pick(random, 60);
    for (std::uint32_t i = 0; i < count; ++i) {
      std::vector<std::uint32_t> all(resources);
      for (std::uint32_t r = 0; r < resources; ++r) all[r] = r;
      std::shuffle(all.begin(), all.end(), random);
      all.resize(1 + pick(random, std::min(6u, resources)));
      classes.add(all, 1 + pick(random, 4));
    }
    std::vector<double> rate;
    FairShares(capacity).fill(classes, rate);
    std::vector<double> used(resources, 0), fastest(resources, 0);
    for (std::size_t i = 0; i < classes.size(); ++i) {
      for (const std::uint32_t r : classes.of(i)) {
        used[r] += rate[i] * classes.flows[i];
        fastest[r] = std::max(fastest[r], rate[i]);
      }
    }
    for (std::uint32_t r = 0; r < resources; ++r) EXPECT_LE(used[r], capacity[r] * (1 + 1e-12));
    for (std::size_t i = 0; i < classes.size(); ++i) {
      const auto uses = classes.of(i);
      EXPECT_TRUE(std::any_of(uses.begin(), uses.end(),
                              [&](std::uint32_t r) {
                                return used[r] >= capacity[r] * (1 - 1e-12) &&
                                       rate[i] >= fastest[r] * (1 - 1e-12);
                              }))
          << "round " << round << ", class " << i;
    }
  }
}

// Hosts on leaves, leaves on one core.
class Tree {
 public:
  explicit Tree(std::vector<std::uint32_t> groups, double uplink_mbit_s = 1000)
      : cluster_(topology::build_tree(
            topology::TreeSpec{.groups = std::move(groups), .uplink_mbit_s = uplink_mbit_s})) {}

  FlowRequest request(std::uint64_t bytes) const {
    FlowRequest out;
    for (std::uint32_t i = 0; i < cluster_.host_count(); ++i) out.participants.push_back({i});
    out.wire_bytes = bytes;
    return out;
  }

  Cluster& cluster() { return cluster_; }

 private:
  Cluster cluster_;
};

// Rounds of a shift: in round i to r + i + 1, `width` of them at once.
class Shift {
 public:
  Shift(FlowRequest& request, std::uint32_t width) : ranks_(request.participants.size()) {
    const auto ranks = static_cast<std::uint32_t>(ranks_);
    request.rounds = (ranks - 2) / width + 1;
    request.sends = [this, ranks, width](base::Rank rank, std::uint32_t round) {
      list_.clear();
      for (std::uint32_t i = round * width + 1; i <= (round + 1) * width && i < ranks; ++i) {
        list_.push_back({(rank.value + i) % ranks});
      }
      return std::span<const base::Rank>(list_);
    };
    request.receives = [this, ranks, width](base::Rank rank, std::uint32_t round) {
      list_.clear();
      for (std::uint32_t i = round * width + 1; i <= (round + 1) * width && i < ranks; ++i) {
        list_.push_back({(rank.value + ranks - i) % ranks});
      }
      return std::span<const base::Rank>(list_);
    };
  }

 private:
  std::size_t ranks_;
  std::vector<base::Rank> list_;
};

double seconds(const Cluster& cluster, const FlowRequest& request) {
  const auto result = simulate_flows(cluster, request);
  EXPECT_TRUE(result) << (result ? "" : result.error().message);
  return result ? result.value().seconds : 0;
}

// 7 messages of 12,500 bytes on 12.5 MB/s.
TEST(Flow, OneSwitchTakesWhatAHostLinkTakes) {
  Tree tree({8});
  const FlowRequest request = tree.request(12'500);
  EXPECT_DOUBLE_EQ(seconds(tree.cluster(), request), 7e-3);
}

TEST(Flow, RoundsOfASwitchAddUp) {
  Tree tree({8});
  FlowRequest request = tree.request(12'500);
  request.packet_wire_bytes = 1250;  // 100 us on the second link
  request.overhead_s = 20e-6;
  const Shift shift(request, 1);
  for (const FlowRounds mode : {FlowRounds::kFree, FlowRounds::kTogether}) {
    request.mode = mode;
    EXPECT_NEAR(seconds(tree.cluster(), request), 7 * (1e-3 + 120e-6), 1e-12);
  }
}

// 8x4 behind 412 Mbit/s: 8 * 24 messages cross each uplink each way.
TEST(Flow, ASlowUplinkIsTheBottleneck) {
  Tree tree({8, 8, 8, 8}, 412);
  const FlowRequest request = tree.request(100'000);
  const auto result = simulate_flows(tree.cluster(), request);
  ASSERT_TRUE(result);
  EXPECT_NEAR(result.value().seconds, 8 * 24 * 100e3 / 51.5e6, 1e-12);
  EXPECT_EQ(result.value().bottleneck, "leaf0 -> core");
  EXPECT_EQ(result.value().flows, 32u * 31u);
  double busiest = 0;
  for (const FlowPortLoad& load : result.value().ports) busiest = std::max(busiest, load.busy);
  EXPECT_DOUBLE_EQ(busiest, 1);
}

// Filling the rates step by step gives what the bytes of the busiest resource say.
TEST(Flow, OneRoundEndsWithTheBusiestResource) {
  for (const double uplink : {150.0, 412.0, 1000.0}) {
    Tree tree({5, 3, 7}, uplink);
    tree.cluster().links.back().bidirectional_cap_mbit_s = 333;
    FlowRequest request = tree.request(40'000);
    const double together = seconds(tree.cluster(), request);
    const Shift shift(request, 14);
    ASSERT_EQ(request.rounds, 1u);
    request.mode = FlowRounds::kFree;
    EXPECT_NEAR(seconds(tree.cluster(), request), together, together * 1e-9);
  }
}

// With destination tables, hosts of one switch are counted together: the same bytes on every port
// as path by path.
TEST(Flow, PortsOfAFatTreeCarryWhatTheirPathsDo) {
  const auto made = topology::build_fat_tree(54);
  ASSERT_TRUE(made);
  const Cluster& cluster = made.value();
  FlowRequest request;
  for (std::uint32_t i = 0; i < cluster.host_count(); i += i % 5 == 0 ? 1 : 2) {
    request.participants.push_back({i});
  }
  request.wire_bytes = 1000;
  const auto result = simulate_flows(cluster, request);
  ASSERT_TRUE(result);
  const auto routes = routing::Routes::make(cluster, routing::Rule::kDModK);
  ASSERT_TRUE(routes);
  std::vector<double> bytes(2 * cluster.links.size(), 0);
  for (const base::HostId from : request.participants) {
    for (const base::HostId to : request.participants) {
      if (from == to) continue;
      for (const std::uint32_t port : routes.value().path(from.value, to.value, 0)) {
        bytes[port] += 1000;
      }
    }
  }
  for (const FlowPortLoad& load : result.value().ports) {
    EXPECT_DOUBLE_EQ(load.bytes, bytes[load.port]) << load.name;
    bytes[load.port] = 0;
  }
  EXPECT_THAT(bytes, testing::Each(0));
}

// Ranks that finish a light round early start the next one early.
TEST(Flow, FreeRoundsAreNoSlowerThanRoundsTogether) {
  Tree tree({6, 2, 4}, 200);
  FlowRequest request = tree.request(40'000);
  const Shift shift(request, 1);
  request.mode = FlowRounds::kFree;
  const auto free_rounds = simulate_flows(tree.cluster(), request);
  request.mode = FlowRounds::kTogether;
  const auto together = simulate_flows(tree.cluster(), request);
  ASSERT_TRUE(free_rounds && together);
  EXPECT_LE(free_rounds.value().seconds, together.value().seconds * (1 + 1e-12));
  EXPECT_FALSE(free_rounds.value().together);
  // Never below what must cross the busiest uplink: 6 * 6 messages at 25 MB/s.
  EXPECT_GE(free_rounds.value().seconds, 36 * 40e3 / 25e6);
  EXPECT_EQ(free_rounds.value().flows, 12u * 11u);
}

TEST(Flow, BothDirectionsShareACap) {
  Tree tree({2, 2}, 1000);
  for (topology::Link& link : tree.cluster().links) {
    if (!tree.cluster().is_host(link.from)) link.bidirectional_cap_mbit_s = 80;
  }
  const FlowRequest request = tree.request(100'000);
  const auto result = simulate_flows(tree.cluster(), request);
  ASSERT_TRUE(result);
  EXPECT_DOUBLE_EQ(result.value().seconds, 8 * 100e3 / 10e6);  // 4 messages each way
  EXPECT_EQ(result.value().bottleneck, "leaf0 - core, both ways");
}

TEST(Flow, ABackplaneCounts) {
  Tree tree({4});
  tree.cluster().switches[0].backplane_mbit_s = 200;
  const FlowRequest request = tree.request(100'000);
  const auto result = simulate_flows(tree.cluster(), request);
  ASSERT_TRUE(result);
  EXPECT_DOUBLE_EQ(result.value().seconds, 12 * 100e3 / 25e6);
  EXPECT_EQ(result.value().bottleneck, "leaf0 backplane");
}

TEST(Flow, BadRequestsAreRefused) {
  Tree tree({4});
  const auto message = [&](const FlowRequest& request) {
    const auto result = simulate_flows(tree.cluster(), request);
    return result ? std::string() : result.error().message;
  };
  FlowRequest request = tree.request(1);
  request.participants.resize(1);
  EXPECT_THAT(message(request), testing::HasSubstr("among 1 hosts; expected at least 2"));
  EXPECT_THAT(message(tree.request(0)), testing::HasSubstr("0 bytes per pair"));
  tree.cluster().links[2].rate_down_mbit_s = 0;
  EXPECT_THAT(message(tree.request(1)), testing::HasSubstr("h2 - leaf0 has a rate of zero"));
  tree.cluster().links.pop_back();
  tree.cluster().links[2].rate_down_mbit_s = 100;
  EXPECT_THAT(message(tree.request(1)), testing::HasSubstr("host `h3` has no link"));
}

TEST(Flow, ProgressMayStopIt) {
  Tree tree({8});
  FlowRequest request = tree.request(1000);
  const Shift shift(request, 1);
  request.progress = [](double) { return false; };
  for (const FlowRounds mode : {FlowRounds::kFree, FlowRounds::kTogether}) {
    request.mode = mode;
    EXPECT_FALSE(simulate_flows(tree.cluster(), request));
  }
}

// Every rule, as for packets with path number 0.
TEST(Flow, TakesTheRoutesOfEveryRule) {
  const auto cluster = topology::generate("leaf-spine:2x3x2").value();
  for (const char* name : {"ecmp", "d-mod-k", "source", "lid", "updown", "valiant", "fm1", "fm2",
                           "alternate", "random", "least-loaded"}) {
    for (const FlowRounds mode : {FlowRounds::kTogether, FlowRounds::kFree}) {
      FlowRequest request;
      for (std::uint32_t i = 0; i < cluster.host_count(); ++i) request.participants.push_back({i});
      request.wire_bytes = 10'000;
      const Shift shift(request, 1);
      request.routing = routing::parse_rule(name).value();
      request.mode = mode;
      const auto result = simulate_flows(cluster, request);
      ASSERT_TRUE(result.ok()) << name << ": " << result.error().message;
      EXPECT_GT(result.value().seconds, 0) << name;
    }
  }
}

}  // namespace
}  // namespace alm::sim

// Routes that change while packets are on the way, and routes that are chosen by load.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/test_program.h"
#include "topology/generate.h"

namespace alm::sim {
namespace {

constexpr Picos kMilli = kPicosPerSecond / 1000;

struct Taken {
  std::vector<std::uint32_t> labels;   // of packets that came, in order
  std::vector<std::uint64_t> packets;  // by port
  std::vector<Simulator::Rerouted> rerouted;
};

Taken take(const topology::Cluster& cluster, const std::vector<Sending>& list,
           const Options& options) {
  auto made = Simulator::make(cluster, options);
  EXPECT_TRUE(made.ok()) << (made ? "" : made.error().message);
  Simulator& simulator = *made.value();
  ListProgram program(cluster.host_count(), list);
  program.numbers_messages = true;
  simulator.run(program);
  Taken out;
  for (const Arrived& one : program.arrived) out.labels.push_back(one.label);
  for (std::uint32_t port = 0; port < simulator.ports(); ++port) {
    out.packets.push_back(simulator.stats(port).packets);
  }
  out.rerouted = simulator.rerouted();
  return out;
}

// One packet a millisecond; a trunk on its way goes down after 2.5 ms and comes back at 7.5 ms.
TEST(Rerouting, TakesAsLongAsItIsSaidTo) {
  const topology::Cluster cluster = topology::generate("leaf-spine:1x2x2").value();
  std::vector<Sending> list;
  for (std::uint32_t i = 0; i < 12; ++i) list.push_back({.from = 0, .to = 1, .at = i * kMilli});
  for (const routing::Rule rule :
       {routing::Rule::kDModK, routing::Rule::kLid, routing::Rule::kFm1, routing::Rule::kUpDown}) {
    Options options;
    options.rule = rule;
    const auto routes = routing::Routes::make(cluster, rule);
    const std::uint32_t trunk = routes.value().path(0, 1, 0)[1];
    options.faults.push_back({.kind = Fault::Kind::kLinkDown,
                              .port = trunk,
                              .start = 5 * kMilli / 2,
                              .duration = 5 * kMilli});
    EXPECT_THAT(take(cluster, list, options).labels, ::testing::ElementsAre(0, 1, 2, 8, 9, 10, 11));
    options.reroute_delay = 2 * kMilli;
    const Taken got = take(cluster, list, options);
    // Lost until 4.5 ms; another spine until 9.5 ms.
    EXPECT_THAT(got.labels, ::testing::ElementsAre(0, 1, 2, 5, 6, 7, 8, 9, 10, 11));
    EXPECT_EQ(got.packets[trunk], 3u + 2 + 2) << routing::name_of(rule);
    ASSERT_EQ(got.rerouted.size(), 2u);
    EXPECT_EQ(got.rerouted[0].at, 9 * kMilli / 2);
    EXPECT_TRUE(got.rerouted[0].whole && got.rerouted[1].whole);
  }
}

TEST(Rerouting, KeepsItsRoutesWhereNoneAreLeft) {
  const topology::Cluster cluster = topology::generate("leaf-spine:1x2x1").value();
  Options options;
  options.faults.push_back(
      {.kind = Fault::Kind::kLinkDown, .port = 4, .start = 1, .duration = 3 * kMilli});
  options.reroute_delay = kMilli;
  const Taken got =
      take(cluster, {{.from = 0, .to = 1, .at = kMilli}, {.from = 0, .to = 1, .at = 5 * kMilli}},
           options);
  EXPECT_THAT(got.labels, ::testing::ElementsAre(1));
  ASSERT_EQ(got.rerouted.size(), 2u);
  EXPECT_FALSE(got.rerouted[0].whole);
  EXPECT_TRUE(got.rerouted[1].whole);
}

// Two hosts send at once through two spines; their first routes share one.
TEST(LeastLoaded, TakesTheRouteWithFewerPackets) {
  const topology::Cluster cluster =
      topology::generate("lossless-leaf-spine:2x2x2,rate_mbit_s=100").value();
  std::vector<Sending> list;
  for (std::uint32_t i = 0; i < 40; ++i) {
    list.push_back({.from = i % 2, .to = 2 + i % 2});
  }
  Options options;
  options.rule = routing::Rule::kLeastLoaded;
  const Taken got = take(cluster, list, options);
  EXPECT_EQ(got.labels.size(), 40u);
  // leaf0 - spine0, leaf0 - spine1
  EXPECT_NEAR(static_cast<double>(got.packets[8]), 20, 6);
  EXPECT_EQ(got.packets[8] + got.packets[10], 40u);
}

}  // namespace
}  // namespace alm::sim

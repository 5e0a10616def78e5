#include "emulate/network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "sim/random.h"
#include "sim/test_program.h"

namespace alm::emulate {
namespace {

using sim::kPicosPerMicro;
using sim::kPicosPerSecond;

constexpr std::uint32_t kFrame = 1514;
constexpr Picos kHostFrame = 121'120'000;  // of 1514 bytes at 100 Mbit/s

topology::Cluster two_leaves(const std::string& more_of_switch = "") {
  const std::string text = R"(
format = 1
name = "two"
[[switch]]
name = "leaf[0-1]"
)" + more_of_switch + R"(
[[host]]
name = "h[0-7]"
[[link]]
from = "h[0-3]"
to = "leaf0"
rate_mbit_s = 100
queue_down_packets = 10
[[link]]
from = "h[4-7]"
to = "leaf1"
rate_mbit_s = 100
latency_us = 7
queue_down_packets = 10
[[link]]
from = "leaf0"
to = "leaf1"
rate_mbit_s = 200
latency_us = 30
queue_up_packets = 10
queue_down_packets = 10
)";
  return topology::parse_cluster(text, "test").value();
}

std::unique_ptr<Network> make(const topology::Cluster& cluster, std::uint32_t output_frames = 3) {
  return Network::make(cluster, routing::Rule::kDModK, output_frames).value();
}

Entering frame(std::uint32_t id, std::uint32_t from, std::uint32_t to) {
  return {id, from, to, kFrame, 0};
}

TEST(Network, LoneFrameTakesItsTimeOnEveryLink) {
  const auto network = make(two_leaves());
  network->enter(frame(1, 0, 4), 1000);
  const Picos expected = 1000 + 2 * kHostFrame + kHostFrame / 2 + 37 * kPicosPerMicro;
  network->advance(expected - 1);
  EXPECT_TRUE(network->delivered().empty());
  EXPECT_EQ(network->held(), 1u);
  EXPECT_EQ(network->quiet_until(), expected);
  network->advance(expected);
  ASSERT_EQ(network->delivered().size(), 1u);
  EXPECT_EQ(network->delivered()[0].due, expected);
  EXPECT_EQ(network->delivered()[0].from, 0u);
  EXPECT_EQ(network->held(), 0u);
  EXPECT_EQ(network->quiet_until(), sim::kNever);
}

TEST(Network, FrameThatIsReadLateEntersWhenItCame) {
  const auto network = make(two_leaves());
  network->enter(frame(1, 0, 1), 5000);
  network->enter(frame(2, 2, 3), 1000);
  network->advance(kPicosPerSecond);
  ASSERT_EQ(network->delivered().size(), 2u);
  EXPECT_EQ(network->delivered()[0].due, 1000 + 2 * kHostFrame);
  EXPECT_EQ(network->delivered()[1].due, 5000 + 2 * kHostFrame);
  // What has been simulated stands: a frame from before enters now.
  network->delivered().clear();
  network->enter(frame(3, 0, 1), 6000);
  network->advance(2 * kPicosPerSecond);
  EXPECT_NEAR(static_cast<double>(network->delivered()[0].due - kPicosPerSecond),
              static_cast<double>(2 * kHostFrame), 10);
}

TEST(Network, FramesOfAHostFollowEachOtherAtTheRateOfItsLink) {
  const auto network = make(two_leaves());
  for (std::uint32_t i = 0; i < 40; ++i) network->enter(frame(i, 0, 1), 0);
  network->advance(kPicosPerSecond);
  ASSERT_EQ(network->delivered().size(), 40u);
  for (std::uint32_t i = 0; i < 40; ++i) {
    EXPECT_EQ(network->delivered()[i].id, i);
    EXPECT_NEAR(static_cast<double>(network->delivered()[i].due),
                static_cast<double>(kHostFrame * (2 + i)), 2);
  }
}

// Three senders, one port: two of three frames wait, and the port takes one in a frame's time.
TEST(Network, LossBeginsWhenTheQueueIsFull) {
  const auto network = make(two_leaves());
  constexpr std::uint32_t kQueue = 10;
  for (std::uint32_t i = 0; i < 20; ++i) {
    for (std::uint32_t from = 1; from < 4; ++from)
      network->enter(frame(100 * from + i, from, 0), 0);
  }
  network->advance(kPicosPerSecond);
  // After n rounds of three arrivals n have left (the last is on the link): 2 n + 1 <= kQueue + 1.
  const std::uint32_t whole = kQueue / 2;
  std::vector<std::uint32_t> lost = network->lost();
  ASSERT_FALSE(lost.empty());
  for (const std::uint32_t id : lost) EXPECT_GE(id % 100, whole);
  EXPECT_EQ(network->delivered().size() + lost.size(), 60u);
  EXPECT_EQ(network->simulator().stats(1).dropped, lost.size());
  EXPECT_EQ(network->held(), 0u);
}

TEST(Network, LongQueuesMarkPackets) {
  topology::Cluster cluster = two_leaves();
  for (topology::Link& link : cluster.links) link.ecn_packets = 4;
  const auto network = make(cluster);
  for (std::uint32_t i = 0; i < 3; ++i) {
    for (std::uint32_t from = 1; from < 4; ++from) network->enter(frame(3 * i + from, from, 0), 0);
  }
  network->advance(kPicosPerSecond);
  // The three that come at once find 0, 0 and 1 packets waiting, the next three 1, 2 and 3, the
  // last three 3, 4 and 5.
  std::uint32_t marked = 0;
  for (const Delivered& done : network->delivered()) {
    marked += done.marked;
    EXPECT_EQ(done.marked, done.id > 7) << done.id;
  }
  EXPECT_EQ(marked, 2u);
  EXPECT_EQ(network->simulator().stats(1).marked, marked);
}

TEST(Network, LosslessSwitchesStopHostsAndLoseNothing) {
  const auto network = make(two_leaves("flow_control = \"back-pressure\"\n"));
  std::map<std::uint32_t, bool> stopped;
  std::uint32_t sent = 0;
  for (Picos now = 0; now < 100 * kHostFrame; now += kHostFrame) {
    for (std::uint32_t from = 1; from < 4; ++from) {
      if (!stopped[from]) network->enter(frame(sent++, from, 0), now);
    }
    network->advance(now);
    for (const Network::Stop& stop : network->stops()) stopped[stop.interface] = stop.stop;
    network->stops().clear();
  }
  network->advance(kPicosPerSecond);
  EXPECT_TRUE(network->lost().empty());
  EXPECT_EQ(network->delivered().size(), sent);
  EXPECT_LT(sent, 160u);  // of 300 that could have been sent: 100 fit through, some wait
  EXPECT_GT(sent, 100u);
}

TEST(Network, LinksChangeWhileFramesAreUnderWay) {
  const auto network = make(two_leaves());
  sim::Simulator& simulator = network->simulator();
  simulator.set_condition(8, {1, 1});
  network->enter(frame(1, 0, 4), 0);
  network->advance(kPicosPerSecond);
  EXPECT_THAT(network->lost(), testing::ElementsAre(1u));
  EXPECT_EQ(simulator.stats(16).lost, 1u);
  network->lost().clear();
  simulator.set_condition(8, {0.1, 0});
  network->enter(frame(2, 0, 4), kPicosPerSecond);
  network->advance(2 * kPicosPerSecond);
  ASSERT_EQ(network->delivered().size(), 1u);
  // A picosecond later at most: one that has passed is over.
  EXPECT_NEAR(static_cast<double>(network->delivered()[0].due - kPicosPerSecond),
              static_cast<double>(2 * kHostFrame + 5 * kHostFrame + 37 * kPicosPerMicro), 1);
  simulator.set_condition(8, {1, 0.25});
  for (std::uint32_t i = 0; i < 1000; ++i) {
    network->enter(frame(i, 0, 4), 3 * kPicosPerSecond + i * kHostFrame);
  }
  network->advance(6 * kPicosPerSecond);
  EXPECT_NEAR(static_cast<double>(network->lost().size()), 250, 50);
  simulator.set_condition(8, {});
  network->lost().clear();
  network->enter(frame(1, 0, 4), 7 * kPicosPerSecond);
  network->advance(8 * kPicosPerSecond);
  EXPECT_TRUE(network->lost().empty());
}

// Whatever enters meanwhile, nothing arrives before quiet_until() and the shortest route allow it.
TEST(Network, NothingArrivesBeforeItWasSaidTo) {
  for (const char* kind : {"", "architecture = \"input\"\n", "switching = \"cut-through\"\n",
                           "flow_control = \"back-pressure\"\n"}) {
    const auto network = make(two_leaves(kind));
    sim::Random random(7);
    Picos now = 0;
    std::uint32_t entered = 0, arrived = 0;
    for (int turn = 0; turn < 20000; ++turn) {
      if (random.below(3) == 0) {
        const auto from = static_cast<std::uint32_t>(random.below(8));
        const auto to = static_cast<std::uint32_t>((from + 1 + random.below(7)) % 8);
        const auto bytes = static_cast<std::uint32_t>(42 + random.below(1473));
        network->enter({entered++, from, to, bytes, 0}, now);
      }
      const Picos quiet = network->quiet_until();
      const Picos next = now + static_cast<Picos>(random.below(60)) * kPicosPerMicro;
      network->advance(next);
      for (const Delivered& done : network->delivered()) {
        ++arrived;
        EXPECT_GE(done.due, std::min(quiet, now + network->shortest_route()));
        EXPECT_LE(done.due, next);
        EXPECT_GT(done.due, now);
      }
      arrived += static_cast<std::uint32_t>(network->lost().size());
      network->delivered().clear();
      network->lost().clear();
      now = next;
    }
    EXPECT_EQ(entered - arrived, network->held());
  }
}

// Hosts that always have a frame for anybody, on the textbook's input-buffered switch: throughput
// 0.75 with 2 hosts, 0.655 with 4, 0.618 with 8 (Karol et al. 1987, Table I).
TEST(Network, InputBuffersSaturateAsPublished) {
  const std::map<std::uint32_t, double> published{{2, 0.75}, {4, 0.6553}, {8, 0.6184}};
  for (const auto& [hosts, throughput] : published) {
    topology::Cluster cluster = topology::build_one_switch(hosts);
    cluster.switches[0].architecture = topology::Architecture::kInput;
    cluster.switches[0].flow_control = topology::FlowControl::kBackPressure;
    const auto network = make(cluster, 0);
    sim::Random random(11);
    std::vector<bool> stopped(hosts, false);
    constexpr int kFrames = 20000;
    const Picos frame_time = network->frame_time(0);
    for (int i = 0; i < kFrames; ++i) {
      for (std::uint32_t from = 0; from < hosts; ++from) {
        const auto to = static_cast<std::uint32_t>(random.below(hosts));
        if (!stopped[from]) network->enter({0, from, to, kFrame, 0}, i * frame_time);
      }
      network->advance(i * frame_time);
      for (const Network::Stop& stop : network->stops()) stopped[stop.interface] = stop.stop;
      network->stops().clear();
    }
    EXPECT_TRUE(network->lost().empty());
    EXPECT_NEAR(static_cast<double>(network->delivered().size()) / (kFrames * hosts), throughput,
                0.02);
  }
}

// The same frames, simulated as fast as it goes.
TEST(Network, DoesWhatTheSimulatorDoes) {
  const topology::Cluster cluster = two_leaves("architecture = \"input\"\n");
  sim::Random random(3);
  std::vector<sim::Sending> list;
  Picos at = 0;
  for (std::uint32_t i = 0; i < 4000; ++i) {
    at += static_cast<Picos>(random.below(30)) * kPicosPerMicro;
    const auto from = static_cast<std::uint32_t>(random.below(8));
    list.push_back(
        {from, static_cast<std::uint32_t>((from + 1 + random.below(7)) % 8), at, kFrame});
  }
  sim::Options options;
  options.rule = routing::Rule::kDModK;
  options.host_queue_packets = 100000;
  auto simulator = sim::Simulator::make(cluster, options).value();
  sim::ListProgram program(8, list);
  simulator->run(program);

  const auto network = make(cluster);
  for (std::uint32_t i = 0; i < list.size(); ++i) {
    network->enter({i, list[i].from, list[i].to, kFrame, 0}, list[i].at);
    if (i % 7 == 0) network->advance(list[i].at);
  }
  network->advance(at + kPicosPerSecond);
  ASSERT_EQ(network->delivered().size(), program.arrived.size());
  std::map<std::uint32_t, Picos> expected;
  for (const sim::Arrived& arrived : program.arrived) expected[arrived.label] = arrived.at;
  for (const Delivered& done : network->delivered()) {
    EXPECT_NEAR(static_cast<double>(done.due), static_cast<double>(expected[done.id]), 10);
  }
}

}  // namespace
}  // namespace alm::emulate

// Exact expectations, to the picosecond: 1000 bytes at 100 Mbit/s take 80 us.
#include "sim/simulator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/test_program.h"

namespace alm::sim {
namespace {

using topology::Architecture;
using topology::Cluster;
using topology::FlowControl;
using topology::Switching;

constexpr Picos kFrame = 80 * kPicosPerMicro;

struct Finished {
  std::unique_ptr<Simulator> simulator;
  std::vector<Arrived> arrived;
  Outcome outcome = Outcome::kDone;
  std::uint64_t dropped() const { return simulator->dropped(); }
};

Finished run(const Cluster& cluster, const std::vector<Sending>& list, Options options = {}) {
  Finished out;
  options.frame_bytes = 1000;
  auto made = Simulator::make(cluster, options);
  if (!made) {
    ADD_FAILURE() << made.error().message;
    return out;
  }
  out.simulator = std::move(made).value();
  ListProgram program(cluster.host_count(), list);
  out.outcome = out.simulator->run(program);
  out.arrived = program.arrived;
  return out;
}

std::vector<Picos> times(const Finished& run) {
  std::vector<Picos> out;
  for (const Arrived& one : run.arrived) out.push_back(one.at);
  return out;
}

TEST(Latency, StoreAndForwardWaitsForTheTailAtEverySwitch) {
  for (const std::uint32_t switches : {1u, 2u, 5u}) {
    const Finished got =
        run(chain(switches, Switching::kStoreAndForward, 3), {{.from = 0, .to = 1}});
    ASSERT_EQ(got.arrived.size(), 1u);
    EXPECT_EQ(got.arrived[0].at, (switches + 1) * (kFrame + 3 * kPicosPerMicro));
    EXPECT_EQ(got.simulator->packet_hops(), switches + 1);
  }
}

TEST(Latency, CutThroughPaysForTheFrameOnce) {
  for (const std::uint32_t switches : {1u, 2u, 5u}) {
    const Finished got = run(chain(switches, Switching::kCutThrough, 3), {{.from = 0, .to = 1}});
    ASSERT_EQ(got.arrived.size(), 1u);
    EXPECT_EQ(got.arrived[0].at, kFrame + (switches + 1) * 3 * kPicosPerMicro);
  }
}

TEST(Latency, CutThroughNeverOutrunsTheTail) {
  Cluster cluster = chain(2, Switching::kCutThrough, 0);
  cluster.links[1].rate_up_mbit_s = 1000;  // between the switches
  const Finished got = run(cluster, {{.from = 0, .to = 1}});
  // The fast link ends with the slow one before it; the last is slow again and starts with the
  // fast one's head.
  EXPECT_THAT(times(got), ::testing::ElementsAre(kFrame + kFrame - kFrame / 10));
}

// Three hosts send 1000, 1000 and 100 bytes at once to a fourth, whose link is ten times as fast.
TEST(Latency, WhatCutsThroughIntoAFasterLinkHoldsUpNobody) {
  Cluster cluster = star(4, {.name = {}, .switching = Switching::kCutThrough});
  cluster.links[3].rate_down_mbit_s = 1000;
  const Finished got = run(
      cluster, {{.from = 0, .to = 3}, {.from = 1, .to = 3}, {.from = 2, .to = 3, .bytes = 100}});
  // The short one is here long before the others, which follow one another when their tails come.
  EXPECT_THAT(times(got), ::testing::ElementsAre(kFrame / 10, kFrame, kFrame + kFrame / 10));
}

TEST(Latency, RoundsToTheNearestPicosecond) {
  EXPECT_EQ(serialization(1514, 412'000'000), 29'398'058);
  EXPECT_EQ(serialization(1514, 1'000'000'000), 12'112'000);
  EXPECT_EQ(serialization(1u << 20, 1'000'000), 8'388'608'000'000);
}

TEST(OutputQueue, KeepsAllThatFitsAndDropsTheRest) {
  std::vector<Sending> list;
  for (std::uint32_t from = 1; from <= 5; ++from) list.push_back({.from = from, .to = 0});
  // Five come at once; one is sent, three wait, one is dropped: the last to arrive.
  const Finished got = run(star(6, {}, 3), list);
  EXPECT_THAT(times(got), ::testing::ElementsAre(2 * kFrame, 3 * kFrame, 4 * kFrame, 5 * kFrame));
  EXPECT_EQ(got.dropped(), 1u);
  const PortStats& stats = got.simulator->stats(routing::down_port(0));
  EXPECT_EQ(stats.packets, 4u);
  EXPECT_EQ(stats.dropped, 1u);
  EXPECT_EQ(stats.queue_high_water, 3u);
  EXPECT_EQ(stats.busy, 4 * kFrame);
}

TEST(OutputQueue, AStartFreesItsPlaceForThoseOfTheSameInstant) {
  std::vector<Sending> list;
  for (std::uint32_t from = 1; from <= 3; ++from) list.push_back({.from = from, .to = 0});
  list.push_back({.from = 4, .to = 0, .at = kFrame});  // comes when the second starts
  const Finished got = run(star(5, {}, 2), list);
  EXPECT_EQ(got.dropped(), 0u);
  EXPECT_EQ(got.arrived.size(), 4u);
}

TEST(SharedBuffer, IsOnePoolForAllPorts) {
  const topology::Switch node{
      .name = {}, .architecture = Architecture::kShared, .buffer_packets = 4};
  std::vector<Sending> list;
  for (std::uint32_t from = 2; from < 6; ++from) {
    list.push_back({.from = from, .to = 0});
    list.push_back({.from = from, .to = 1});
  }
  // 4 to each port within two frame times: of each the first starts, and the pool holds 4 of the
  // rest at any time.
  const Finished got = run(star(6, node, 100), list);
  EXPECT_EQ(got.arrived.size() + got.dropped(), 8u);
  EXPECT_EQ(got.dropped(), 1u);
}

// 20 packets at once for an idle port, the first of which starts. The others are taken while fewer
// than alpha * (12 - length) wait: up to alpha / (1 + alpha) * 12, rounded up.
TEST(DynamicThreshold, OneQueueHasItsPartOfThePool) {
  const auto longest = [](double alpha) {
    const topology::Switch node{.name = {},
                                .architecture = Architecture::kShared,
                                .buffer_packets = 12,
                                .buffer_alpha = alpha};
    std::vector<Sending> list;
    for (std::uint32_t from = 1; from < 21; ++from) list.push_back({.from = from, .to = 0});
    const Finished got = run(star(21, node, 100), list);
    EXPECT_EQ(got.arrived.size() + got.dropped(), 20u);
    return got.arrived.size() - 1;
  };
  EXPECT_EQ(longest(0), 12u);
  EXPECT_EQ(longest(0.5), 4u);
  EXPECT_EQ(longest(1), 6u);
  EXPECT_EQ(longest(2), 8u);
  EXPECT_EQ(longest(0.21), 3u);  // 2.08
}

// What waits for one port lowers the threshold of the others: with alpha = 1 and 12 packets the
// first queue grows to 6 and the second, of the 6 left, to 3. A port that is idle starts the first.
TEST(DynamicThreshold, QueuesShareWhatIsFree) {
  const topology::Switch node{
      .name = {}, .architecture = Architecture::kShared, .buffer_packets = 12, .buffer_alpha = 1};
  std::vector<Sending> list;
  for (std::uint32_t from = 2; from < 12; ++from) list.push_back({.from = from, .to = 0});
  for (std::uint32_t from = 12; from < 22; ++from) list.push_back({.from = from, .to = 1});
  const Finished got = run(star(22, node, 100), list);
  const auto to = [&](std::uint32_t host) {
    return std::count_if(got.arrived.begin(), got.arrived.end(),
                         [host](const Arrived& one) { return one.to == host; });
  };
  EXPECT_EQ(to(0), 1 + 6);
  EXPECT_EQ(to(1), 1 + 3);
}

// A packet that starts makes room: 0.5 * (12 - 4) is no more than 4, 0.5 * (12 - 3) is.
TEST(DynamicThreshold, RisesAsPacketsLeave) {
  const topology::Switch node{
      .name = {}, .architecture = Architecture::kShared, .buffer_packets = 12, .buffer_alpha = 0.5};
  std::vector<Sending> list;
  for (std::uint32_t from = 1; from < 6; ++from) list.push_back({.from = from, .to = 0});
  list.push_back({.from = 6, .to = 0, .at = kFrame / 2});
  list.push_back({.from = 7, .to = 0, .at = kFrame + kFrame / 2});
  const Finished got = run(star(8, node, 100), list);
  EXPECT_EQ(got.dropped(), 1u);
  ASSERT_EQ(got.arrived.size(), 6u);
  EXPECT_EQ(got.arrived.back().from, 7u);
}

// As CountsWhatPassesThroughFifosToo: a blocked port keeps its packets in a fifo.
TEST(DynamicThreshold, HoldsWhatABlockedPortKeeps) {
  const topology::Switch node{
      .name = {}, .architecture = Architecture::kShared, .buffer_packets = 6, .buffer_alpha = 0.5};
  Options options;
  options.faults.push_back({.kind = Fault::Kind::kBlockPort,
                            .port = routing::down_port(1),
                            .start = 0,
                            .duration = 100 * kFrame});
  const Finished got =
      run(star(2, node), std::vector<Sending>(5, Sending{.from = 0, .to = 1}), options);
  EXPECT_EQ(got.dropped(), 3u);
  EXPECT_EQ(got.arrived.size(), 2u);
}

TEST(SharedBuffer, CountsWhatPassesThroughFifosToo) {
  const topology::Switch node{.name = {},
                              .architecture = Architecture::kShared,
                              .switching = Switching::kCutThrough,
                              .buffer_packets = 2};
  Cluster cluster = star(4, node);
  cluster.links[1].rate_down_mbit_s = 1000;  // starts after the head has come
  Options options;
  options.faults.push_back({.kind = Fault::Kind::kBlockPort,  // gives the port a fifo
                            .port = routing::down_port(1),
                            .start = 1000 * kFrame,
                            .duration = kFrame});
  std::vector<Sending> list(5, Sending{.from = 0, .to = 1});
  list.push_back({.from = 2, .to = 3, .at = 3 * kFrame});
  const Finished got = run(cluster, list, options);
  EXPECT_EQ(got.dropped(), 0u);
  EXPECT_EQ(got.arrived.size(), 6u);
}

TEST(SharedBuffer, HoldsWhatABlockedPortKeeps) {
  const topology::Switch node{
      .name = {}, .architecture = Architecture::kShared, .buffer_packets = 3};
  Options options;
  options.faults.push_back({.kind = Fault::Kind::kBlockPort,
                            .port = routing::down_port(1),
                            .start = 0,
                            .duration = 100 * kFrame});
  const Finished got =
      run(star(2, node), std::vector<Sending>(5, Sending{.from = 0, .to = 1}), options);
  EXPECT_EQ(got.dropped(), 2u);
  EXPECT_EQ(got.arrived.size(), 3u);
}

TEST(Backplane, IsSharedByAllPorts) {
  topology::Switch node;
  node.backplane_mbit_s = 100;  // one link's worth
  const Finished got = run(star(4, node), {{.from = 0, .to = 2}, {.from = 1, .to = 3}});
  EXPECT_THAT(times(got), ::testing::ElementsAre(2 * kFrame, 3 * kFrame));
  node.backplane_mbit_s = 400;
  const Finished free = run(star(4, node), {{.from = 0, .to = 2}, {.from = 1, .to = 3}});
  EXPECT_THAT(times(free), ::testing::ElementsAre(2 * kFrame, 2 * kFrame));
}

TEST(InputBuffer, HeadOfLineBlocksWhatIsBehind) {
  const topology::Switch node{.name = {}, .architecture = Architecture::kInput};
  // h0 and h1 send to h2 first; h1's second is for h3, which is idle, but must wait.
  const std::vector<Sending> list = {
      {.from = 0, .to = 2}, {.from = 1, .to = 2}, {.from = 1, .to = 3}};
  Options textbook;
  textbook.output_frames = 0;
  const Finished input = run(star(4, node), list, textbook);
  EXPECT_THAT(input.arrived,
              ::testing::ElementsAre(Arrived{0, 2, 0, 2 * kFrame}, Arrived{1, 2, 1, 3 * kFrame},
                                     Arrived{1, 3, 2, 4 * kFrame}));
  const Finished output = run(star(4), list);
  EXPECT_EQ(output.arrived.back().at, 3 * kFrame);
  const Finished buffered = run(star(4, node), list);
  EXPECT_EQ(buffered.arrived.back().at, 3 * kFrame);
}

TEST(InputBuffer, HoldsItsOwnPortsPackets) {
  const topology::Switch node{.name = {}, .architecture = Architecture::kInput};
  Options options;
  options.output_frames = 0;
  // h1 to h4 send 5 each to h0: a quarter gets through, each buffer of 2 overflows.
  std::vector<Sending> list;
  for (std::uint32_t i = 0; i < 5; ++i) {
    for (std::uint32_t from = 1; from <= 4; ++from) list.push_back({.from = from, .to = 0});
  }
  const Finished got = run(star(5, node, 2), list, options);
  EXPECT_EQ(got.arrived.size() + got.dropped(), 20u);
  EXPECT_GT(got.dropped(), 0u);
  for (std::uint32_t host = 1; host <= 4; ++host) {
    EXPECT_LE(got.simulator->stats(routing::up_port(host)).input_high_water, 2u);
  }
}

TEST(Module, BothDirectionsShareOneCap) {
  Cluster cluster = chain(2, Switching::kStoreAndForward, 0);
  cluster.links[1].bidirectional_cap_mbit_s = 100;
  std::vector<Sending> list;
  for (int i = 0; i < 10; ++i) {
    list.push_back({.from = 0, .to = 1});
    list.push_back({.from = 1, .to = 0});
  }
  const Finished capped = run(cluster, list);
  cluster.links[1].bidirectional_cap_mbit_s = 0;
  const Finished free = run(cluster, list);
  EXPECT_EQ(times(free).back(), 12 * kFrame);
  EXPECT_EQ(times(capped).back(), 22 * kFrame);  // 20 frames in turn, one hop before, one after
  EXPECT_EQ(capped.arrived.size(), 20u);
}

TEST(Module, CostsPerPacketAndPerInputThatWaits) {
  Cluster cluster = chain(2, Switching::kStoreAndForward, 0);
  Options options;
  options.modules.push_back({.link = 1, .per_packet = 2 * kFrame});
  const Finished got = run(cluster, std::vector<Sending>(3, Sending{.from = 0, .to = 1}), options);
  EXPECT_THAT(times(got), ::testing::ElementsAre(3 * kFrame, 5 * kFrame, 7 * kFrame));
}

TEST(Host, OverheadsAndGapAreThoseOfEquation1) {
  // T = O_s + (k-1) g + L + O_r + U_r, L two frame times here.
  Options options;
  options.costs = {.send = 12'500'000, .receive = 27'000'000, .gap = 122'000'000};
  const Finished got = run(star(2), std::vector<Sending>(5, Sending{.from = 0, .to = 1}), options);
  for (std::uint32_t k = 1; k <= 5; ++k) {
    EXPECT_EQ(got.arrived[k - 1].at, 12'500'000 + (k - 1) * 122'000'000 + 2 * kFrame + 27'000'000);
  }
}

TEST(Fault, LinkDownLosesWhatIsOnIt) {
  Options options;
  options.faults.push_back(
      {.kind = Fault::Kind::kLinkDown, .port = 2, .start = kFrame, .duration = 2 * kFrame});
  // Port 3 is the port down to h1; the first frame ends there at 2, the next at 3, 4 and 5 frames.
  const Finished got = run(star(2), std::vector<Sending>(4, Sending{.from = 0, .to = 1}), options);
  EXPECT_THAT(times(got), ::testing::ElementsAre(3 * kFrame, 4 * kFrame, 5 * kFrame));
  EXPECT_EQ(got.dropped(), 1u);
}

TEST(Fault, LossyLinkLosesItsPart) {
  Options options;
  options.faults.push_back({.kind = Fault::Kind::kLossyLink, .port = 2, .part = 0.25});
  const std::vector<Sending> many(2000, Sending{.from = 0, .to = 1});
  const Finished got = run(star(2), many, options);
  EXPECT_NEAR(static_cast<double>(got.dropped()), 500, 80);
  EXPECT_EQ(got.arrived.size() + got.dropped(), 2000u);
  EXPECT_EQ(times(run(star(2), many, options)), times(got));
  options.faults[0].seed = 2;
  EXPECT_NE(times(run(star(2), many, options)), times(got));
}

TEST(Fault, BlockedPortHoldsItsQueue) {
  Options options;
  options.faults.push_back({.kind = Fault::Kind::kBlockPort,
                            .port = routing::down_port(1),
                            .start = 0,
                            .duration = 10 * kFrame});
  const Finished got = run(star(2), std::vector<Sending>(3, Sending{.from = 0, .to = 1}), options);
  EXPECT_THAT(times(got), ::testing::ElementsAre(11 * kFrame, 12 * kFrame, 13 * kFrame));
}

TEST(Fault, BlockedInputBufferBeginsWithTheNthPacket) {
  const topology::Switch node{.name = {}, .architecture = Architecture::kInput};
  Options options;
  options.faults.push_back({.kind = Fault::Kind::kBlockPort,
                            .port = routing::up_port(0),
                            .duration = 8 * kFrame,
                            .after_packets = 2});
  const Finished got =
      run(star(2, node), std::vector<Sending>(3, Sending{.from = 0, .to = 1}), options);
  // The second arrives at 2 frames and stays until 10.
  EXPECT_THAT(times(got), ::testing::ElementsAre(2 * kFrame, 11 * kFrame, 12 * kFrame));
}

TEST(Fault, BlockedOutputCountsAPacketOnce) {
  // Both ends of the middle link have fifos; the block begins with the third packet, not with the
  // second because it was seen twice.
  Cluster cluster = chain(2, Switching::kStoreAndForward, 0);
  Options options;
  options.faults.push_back({.kind = Fault::Kind::kBlockPort,
                            .port = routing::up_port(1),
                            .duration = 10 * kFrame,
                            .after_packets = 3});
  options.faults.push_back({.kind = Fault::Kind::kBlockPort,
                            .port = routing::down_port(2),
                            .start = 100 * kFrame,
                            .duration = kFrame});
  const Finished got = run(cluster, std::vector<Sending>(3, Sending{.from = 0, .to = 1}), options);
  EXPECT_THAT(times(got), ::testing::ElementsAre(3 * kFrame, 4 * kFrame, 15 * kFrame));
}

TEST(Fault, SlowHostTakesFrameTimesPerPacket) {
  Options options;
  options.faults.push_back({.kind = Fault::Kind::kSlowHost, .host = 0, .factor = 3});
  const Finished got = run(star(2), std::vector<Sending>(3, Sending{.from = 0, .to = 1}), options);
  EXPECT_THAT(times(got), ::testing::ElementsAre(2 * kFrame, 5 * kFrame, 8 * kFrame));
}

TEST(BackPressure, LosesNothing) {
  for (const auto architecture : {Architecture::kInput, Architecture::kOutput}) {
    const topology::Switch node{
        .name = {}, .architecture = architecture, .flow_control = FlowControl::kBackPressure};
    std::vector<Sending> list;
    for (int i = 0; i < 20; ++i) {
      for (std::uint32_t from = 1; from <= 4; ++from) list.push_back({.from = from, .to = 0});
    }
    const Finished got = run(star(5, node, 2), list);
    EXPECT_EQ(got.dropped(), 0u);
    EXPECT_EQ(got.arrived.size(), 80u);
    EXPECT_EQ(times(got).back(), 81 * kFrame);  // the port to h0 never idles
  }
}

// Three switches in a ring, every host sends to the one two switches on, clockwise.
Cluster ring(FlowControl flow_control) {
  Cluster cluster;
  cluster.name = "ring";
  constexpr std::uint32_t kSwitches = 5;
  for (std::uint32_t i = 0; i < kSwitches; ++i) {
    cluster.hosts.push_back({.name = "h" + std::to_string(i), .address = {}, .interface = {}});
    cluster.switches.push_back({.name = "s" + std::to_string(i),
                                .architecture = Architecture::kInput,
                                .flow_control = flow_control});
  }
  const auto join = [&](std::uint32_t from, std::uint32_t to) {
    cluster.links.push_back({.from = {from},
                             .to = {to},
                             .rate_up_mbit_s = 100,
                             .rate_down_mbit_s = 100,
                             .queue_up_packets = 1,
                             .queue_down_packets = 1});
  };
  for (std::uint32_t i = 0; i < kSwitches; ++i) join(i, kSwitches + i);
  for (std::uint32_t i = 0; i < kSwitches; ++i) {
    join(kSwitches + i, kSwitches + (i + 1) % kSwitches);
  }
  return cluster;
}

TEST(BackPressure, NamesTheCycleOfADeadlock) {
  std::vector<Sending> list;
  for (int i = 0; i < 50; ++i) {
    for (std::uint32_t from = 0; from < 5; ++from) {
      list.push_back({.from = from, .to = (from + 2) % 5});
    }
  }
  Options options;
  options.output_frames = 0;
  const Finished got = run(ring(FlowControl::kBackPressure), list, options);
  EXPECT_EQ(got.outcome, Outcome::kDeadlock);
  // The five clockwise links: links 5 to 9, upwards.
  std::vector<std::uint32_t> cycle = got.simulator->deadlock();
  std::sort(cycle.begin(), cycle.end());
  EXPECT_THAT(cycle, ::testing::ElementsAre(10, 12, 14, 16, 18));
  const Finished dropping = run(ring(FlowControl::kDrop), list, options);
  EXPECT_EQ(dropping.outcome, Outcome::kIdle);
}

TEST(Refused, WhatCannotBeSimulated) {
  const auto message = [](const Cluster& cluster, const Options& options = {}) {
    const auto made = Simulator::make(cluster, options);
    return made.ok() ? std::string("accepted") : made.error().message;
  };
  Cluster cluster = star(2);
  cluster.links[0].rate_up_mbit_s = 0;
  EXPECT_THAT(message(cluster), ::testing::HasSubstr("h0 -> s: a rate of 0 Mbit/s"));
  cluster = star(2);
  cluster.links[1].queue_down_packets = 0;
  EXPECT_THAT(message(cluster), ::testing::HasSubstr("s -> h1: a buffer of 0 packets"));
  cluster = star(2);
  cluster.switches.push_back({.name = "alone"});
  EXPECT_THAT(message(cluster), ::testing::HasSubstr("no path leads from switch `alone`"));
  Options options;
  options.frame_bytes = 10;
  EXPECT_THAT(message(star(2), options), ::testing::HasSubstr("frames of 10 bytes"));
  options = {};
  options.host_queue_packets = 0;
  EXPECT_THAT(message(star(2), options), ::testing::HasSubstr("host queue of 0"));
  EXPECT_THAT(message(Cluster{}), ::testing::HasSubstr("without hosts"));
}

class Recorder final : public TraceSink {
 public:
  void on(const TraceRecord& record) override { records.push_back(record); }
  std::vector<TraceRecord> records;
};

TEST(Trace, TellsOfEveryPacketAtEveryPort) {
  Recorder recorder;
  Options options;
  options.trace = &recorder;
  const Finished got = run(
      star(4, {}, 1), {{.from = 1, .to = 0}, {.from = 2, .to = 0}, {.from = 3, .to = 0}}, options);
  EXPECT_EQ(got.dropped(), 1u);
  ASSERT_EQ(recorder.records.size(), 6u);
  const TraceRecord& waited = recorder.records[4];
  EXPECT_EQ(waited.port, routing::down_port(0));
  EXPECT_EQ(waited.queued, kFrame);
  EXPECT_EQ(waited.start, 2 * kFrame);
  EXPECT_EQ(waited.end, 3 * kFrame);
  EXPECT_EQ(recorder.records[5].kind, TraceKind::kDropped);
}

}  // namespace
}  // namespace alm::sim

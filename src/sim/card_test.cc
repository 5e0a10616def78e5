// Half-duplex cards, to the picosecond: 1000 bytes at 100 Mbit/s take 80 us on the link.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/test_program.h"

namespace alm::sim {
namespace {

constexpr Picos kMicro = kPicosPerMicro;
constexpr Picos kFullFrame = 80 * kMicro;

struct Ran {
  std::vector<Arrived> arrived;
  std::vector<PortStats> ports;
};

Ran send_all(const topology::Cluster& cluster, const std::vector<Sending>& list, Options options) {
  Ran out;
  options.frame_bytes = 1000;
  auto made = Simulator::make(cluster, options);
  if (!made) {
    ADD_FAILURE() << made.error().message;
    return out;
  }
  ListProgram program(cluster.host_count(), list);
  made.value()->run(program);
  for (std::uint32_t port = 0; port < made.value()->ports(); ++port) {
    out.ports.push_back(made.value()->stats(port));
  }
  out.arrived = program.arrived;
  return out;
}

Options half_duplex(Picos turn) {
  Options options;
  options.costs = {.send = 200 * kMicro, .receive = 100 * kMicro};
  options.card = {.half_duplex = true, .turn = turn};
  return options;
}

TEST(HalfDuplexCard, SendsOneAfterTheOther) {
  const Ran got = send_all(star(2), {{.from = 0, .to = 1}, {.from = 0, .to = 1}}, half_duplex(0));
  ASSERT_EQ(got.arrived.size(), 2u);
  EXPECT_EQ(got.arrived[0].at, 200 * kMicro + 2 * kFullFrame + 100 * kMicro);
  EXPECT_EQ(got.arrived[1].at, 400 * kMicro + 2 * kFullFrame + 100 * kMicro);
}

// h0's packet comes to h1 at 360 us, when h1 has worked on its own for 60 us.
TEST(HalfDuplexCard, WhatComesInStopsWhatGoesOutAndPaysForTwoTurns) {
  for (const Picos turn : {Picos{0}, 7 * kMicro}) {
    const Ran got =
        send_all(star(2), {{.from = 0, .to = 1}, {.from = 1, .to = 0, .at = 300 * kMicro}},
                 half_duplex(turn));
    ASSERT_EQ(got.arrived.size(), 2u);
    const Picos first = turn;  // no card has sent before; its first packet needs a turn
    const Picos comes = first + 200 * kMicro + 2 * kFullFrame;
    EXPECT_EQ(got.arrived[0].at, comes + turn + 100 * kMicro);
    const Picos sends = 300 * kMicro + first;
    const Picos left = 200 * kMicro - (comes - sends);
    // h0 sent last, so it turns to receive.
    EXPECT_EQ(got.arrived[1].at,
              comes + turn + 100 * kMicro + turn + left + 2 * kFullFrame + turn + 100 * kMicro);
  }
}

TEST(HalfDuplexCard, ArrivalsInARowPayForOneTurn) {
  const Ran got =
      send_all(star(3), {{.from = 0, .to = 2}, {.from = 1, .to = 2}}, half_duplex(7 * kMicro));
  ASSERT_EQ(got.arrived.size(), 2u);
  // The second has come 80 us after the first and waits for the card.
  EXPECT_EQ(got.arrived[1].at - got.arrived[0].at, 100 * kMicro);
}

TEST(HalfDuplexCard, HasARateOfItsOwn) {
  Options options;
  options.card = {.half_duplex = true, .bit_s = 40'000'000};  // 200 us for 1000 bytes
  const Ran got = send_all(star(2), {{.from = 0, .to = 1}}, options);
  ASSERT_EQ(got.arrived.size(), 1u);
  EXPECT_EQ(got.arrived[0].at, 200 * kMicro + 2 * kFullFrame + 200 * kMicro);
}

TEST(HostQueue, OfOnePacketUnderBackPressureKeepsTheLinkBusy) {
  const topology::Switch node{.name = "s",
                              .architecture = topology::Architecture::kInput,
                              .flow_control = topology::FlowControl::kBackPressure};
  Options options;
  options.host_queue_packets = 1;
  const std::vector<Sending> list(5, {.from = 0, .to = 1});
  const Ran got = send_all(star(2, node), list, options);
  ASSERT_EQ(got.arrived.size(), 5u);
  EXPECT_EQ(got.arrived.back().at, 6 * kFullFrame);
}

TEST(HalfDuplexCard, ACardThatIsFullHoldsBackWhatTheSwitchHas) {
  const topology::Switch node{.name = "s",
                              .architecture = topology::Architecture::kInput,
                              .switching = topology::Switching::kCutThrough,
                              .flow_control = topology::FlowControl::kBackPressure};
  std::vector<Sending> list;
  for (std::uint32_t i = 0; i < 24; ++i) list.push_back({.from = 0, .to = 1});
  Options options;
  options.costs = {.receive = 400 * kMicro};
  const Ran unbounded = send_all(star(2, node), list, options);
  options.card.packets = 2;
  const Ran held = send_all(star(2, node), list, options);
  // The receiver takes as long; the packets wait in the switch, not in the card.
  ASSERT_EQ(held.arrived.size(), 24u);
  ASSERT_EQ(unbounded.arrived.size(), 24u);
  EXPECT_EQ(held.arrived.back().at, unbounded.arrived.back().at);
  EXPECT_LE(unbounded.ports[0].input_high_water, 2u);
  EXPECT_GE(held.ports[0].input_high_water, 6u);
}

}  // namespace
}  // namespace alm::sim

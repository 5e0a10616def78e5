#include "probe/rank.h"

#include <gmock/gmock.h>

#include <vector>

namespace alm::probe {
namespace {

using ::testing::ElementsAre;

constexpr std::uint32_t kBytes = 1472;

Flow one_way(std::uint32_t from, std::uint32_t to, Nanos start, Nanos interval,
             std::uint32_t packets) {
  return {.from = from,
          .to = to,
          .start = start,
          .interval = interval,
          .packets = packets,
          .bytes = kBytes};
}

// What a rank sends by itself until `end`, on a link that takes everything at once.
std::vector<std::pair<std::uint32_t, Nanos>> sends(Rank& rank, Nanos end) {
  std::vector<std::pair<std::uint32_t, Nanos>> out;
  for (Nanos now = rank.deadline(); now < end; now = rank.deadline()) {
    while (const auto outgoing = rank.next(now)) {
      out.emplace_back(outgoing->header.flow, now);
      rank.sent(now, now);
    }
  }
  return out;
}

TEST(ProbeRank, KeepsThePaceOfEachFlow) {
  const Experiment experiment{.number = 1,
                              .duration = 1000,
                              .flows = {one_way(0, 1, 10, 100, 3), one_way(0, 2, 20, 50, 2)}};
  Rank rank(experiment, 0);
  EXPECT_THAT(sends(rank, 1000),
              ElementsAre(std::pair(0u, 10), std::pair(1u, 20), std::pair(1u, 70),
                          std::pair(0u, 110), std::pair(0u, 210)));
  EXPECT_EQ(rank.deadline(), base::kNever);
}

TEST(ProbeRank, ALateSenderCatchesUp) {
  const Experiment experiment{.number = 1, .duration = 1000, .flows = {one_way(0, 1, 0, 100, 4)}};
  Rank rank(experiment, 0);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(rank.next(250));
    rank.sent(250, 250);
  }
  EXPECT_FALSE(rank.next(250));
  EXPECT_EQ(rank.deadline(), 300);
}

TEST(ProbeRank, WhatTheRunnerDidNotTakeIsOfferedAgain) {
  const Experiment experiment{.number = 1, .duration = 1000, .flows = {one_way(0, 1, 0, 0, 2)}};
  Rank rank(experiment, 0);
  EXPECT_EQ(rank.next(5)->header.number, 0u);
  EXPECT_EQ(rank.next(6)->header.number, 0u);
  rank.sent(6, 7);
  EXPECT_EQ(rank.next(8)->header.number, 1u);
}

TEST(ProbeRank, FlowsWithoutPaceTakeTurns) {
  const Experiment experiment{
      .number = 1, .duration = 1000, .flows = {one_way(0, 1, 0, 0, 2), one_way(0, 2, 0, 0, 2)}};
  Rank rank(experiment, 0);
  std::vector<std::uint32_t> order;
  while (const auto outgoing = rank.next(100)) {
    order.push_back(outgoing->to);
    rank.sent(100, 100);
  }
  EXPECT_THAT(order, ElementsAre(1, 2, 1, 2));
}

TEST(ProbeRank, TrainsGoBackToBack) {
  Experiment experiment{.number = 1, .duration = 1000, .flows = {one_way(0, 1, 0, 100, 4)}};
  experiment.flows[0].train = 2;
  Rank rank(experiment, 0);
  EXPECT_THAT(sends(rank, 1000), ElementsAre(std::pair(0u, 0), std::pair(0u, 0), std::pair(0u, 100),
                                             std::pair(0u, 100)));
}

TEST(ProbeRank, AnEchoWaitsForItsAnswer) {
  Experiment experiment{.number = 1, .duration = 1000, .flows = {one_way(0, 1, 0, 400, 2)}};
  experiment.flows[0].kind = FlowKind::kEcho;
  Rank here(experiment, 0), there(experiment, 1);
  const auto ping = here.next(0);
  ASSERT_TRUE(ping);
  here.sent(0, 0);
  EXPECT_FALSE(here.next(10));
  there.received(ping->header, 20, 20);
  EXPECT_EQ(there.deadline(), 0);
  const auto pong = there.next(20);
  ASSERT_TRUE(pong);
  EXPECT_TRUE(pong->header.answer);
  EXPECT_EQ(pong->to, 0u);
  EXPECT_EQ(pong->bytes, kBytes);
  there.sent(20, 20);
  EXPECT_FALSE(there.next(20));
  here.received(pong->header, 40, 41);
  EXPECT_EQ(here.deadline(), 41);
  EXPECT_EQ(here.next(41)->header.number, 1u);
  here.sent(41, 41);
  // The second answer never comes.
  EXPECT_EQ(here.deadline(), base::kNever);
  ASSERT_EQ(here.log().received.size(), 1u);
  EXPECT_EQ(here.log().received[0].answer, 1u);
}

TEST(ProbeRank, SeveralEchoesMayCirculate) {
  Experiment experiment{.number = 1, .duration = 1000, .flows = {one_way(0, 1, 0, 400, 5)}};
  experiment.flows[0].kind = FlowKind::kEcho;
  experiment.flows[0].train = 2;
  Rank rank(experiment, 0);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(rank.next(i));
    rank.sent(i, i);
  }
  EXPECT_FALSE(rank.next(10));
  rank.received({.experiment = 1, .flow = 0, .number = 0, .answer = true}, 20, 20);
  ASSERT_TRUE(rank.next(20));
  rank.sent(20, 20);
  EXPECT_FALSE(rank.next(21));
  // Both that circulate are lost: after 400 ns two others go.
  EXPECT_EQ(rank.deadline(), 420);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(rank.next(420));
    rank.sent(420, 420);
  }
  EXPECT_FALSE(rank.next(420));
}

TEST(ProbeRank, AnEchoThatIsLostIsGivenUp) {
  Experiment experiment{.number = 1, .duration = 1000, .flows = {one_way(0, 1, 0, 400, 2)}};
  experiment.flows[0].kind = FlowKind::kEcho;
  Rank rank(experiment, 0);
  ASSERT_TRUE(rank.next(3));
  rank.sent(3, 3);
  EXPECT_EQ(rank.deadline(), 403);
}

TEST(ProbeRank, NotesOnlyWhatIsItsOwn) {
  const Experiment experiment{.number = 7, .duration = 1000, .flows = {one_way(0, 1, 0, 100, 2)}};
  Rank rank(experiment, 1);
  rank.received({.experiment = 6, .flow = 0, .number = 0}, 1, 1);        // of another experiment
  rank.received({.experiment = 7, .flow = 1, .number = 0}, 1, 1);        // there is no such flow
  rank.received({.experiment = 7, .flow = 0, .number = 2}, 1, 1);        // nor such a packet
  rank.received({.experiment = 7, .flow = 0, .number = 0}, 1001, 1001);  // too late
  rank.received({.experiment = 7, .flow = 0, .number = 0, .answer = true}, 1, 1);
  EXPECT_TRUE(rank.log().received.empty());
  // In time, though the program was called late.
  rank.received({.experiment = 7, .flow = 0, .number = 1}, 1000, 1500);
  EXPECT_EQ(rank.log().received.size(), 1u);
}

TEST(ProbeRank, NotesWhenPacketsLeft) {
  const Experiment experiment{.number = 7, .duration = 1000, .flows = {one_way(0, 1, 0, 100, 2)}};
  Rank rank(experiment, 0);
  sends(rank, 1000);
  rank.left({.experiment = 7, .flow = 0, .number = 1}, 130);
  rank.left({.experiment = 7, .flow = 0, .number = 1}, 135);  // by another device on the way
  rank.left({.experiment = 6, .flow = 0, .number = 0}, 140);  // of another experiment
  rank.left({.experiment = 7, .flow = 0, .number = 5}, 150);  // never sent
  EXPECT_EQ(rank.log().sent[0].left, -1);
  EXPECT_EQ(rank.log().sent[1].left, 130);
}

TEST(ProbeRank, AWatchNotesHowLongItCouldNotLook) {
  const Experiment experiment{
      .number = 1, .duration = 1000, .flows = {}, .watches = {{0, 100, 200, 10}}};
  Rank rank(experiment, 0);
  EXPECT_EQ(rank.deadline(), 100);
  for (const Nanos now : {100, 110, 147, 152, 157}) rank.next(now);
  std::vector<Nanos> lengths;
  for (const Stall& stall : rank.log().stalls) lengths.push_back(stall.length);
  EXPECT_THAT(lengths, ElementsAre(10, 37, 10));
}

TEST(ProbeExperiment, RefusesWhatCannotBeCarriedOut) {
  const auto message = [](Flow flow) {
    const Experiment experiment{.number = 1, .duration = 1000, .flows = {flow}};
    const auto status = check(experiment, 2);
    return status ? std::string() : status.error().message;
  };
  EXPECT_EQ(message(one_way(0, 1, 0, 0, 1)), "");
  EXPECT_THAT(message(one_way(0, 2, 0, 0, 1)), ::testing::HasSubstr("expected two of 2 ranks"));
  EXPECT_THAT(message(one_way(1, 1, 0, 0, 1)), ::testing::HasSubstr("expected two of 2 ranks"));
  Flow flow = one_way(0, 1, 0, 0, 1);
  flow.bytes = kHeaderBytes - 1;
  EXPECT_THAT(message(flow), ::testing::HasSubstr("datagrams of 39 bytes"));
  flow = one_way(0, 1, 0, 0, 1);
  flow.kind = FlowKind::kEcho;
  EXPECT_THAT(message(flow), ::testing::HasSubstr("given up"));
  flow.interval = 1;
  flow.stamped = true;
  EXPECT_THAT(message(flow), ::testing::HasSubstr("not stamped"));
  EXPECT_FALSE(check({.number = 1, .duration = 0, .flows = {}, .watches = {}}, 2));
  EXPECT_FALSE(check({.number = 1, .duration = 1, .flows = {}, .watches = {{2, 0, 1, 1}}}, 2));
}

TEST(ProbeHeader, ComesBackAndNothingElseDoes) {
  Secret secret{}, other{};
  other[3] = std::byte{1};
  const Header header{.experiment = 3, .flow = 9, .number = 77, .sent = -5, .answer = true};
  std::array<std::byte, kHeaderBytes> datagram{};
  encode(header, secret, datagram);
  const auto read = decode(datagram, secret);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->experiment, 3u);
  EXPECT_EQ(read->flow, 9u);
  EXPECT_EQ(read->number, 77u);
  EXPECT_EQ(read->sent, -5);
  EXPECT_TRUE(read->answer);
  EXPECT_FALSE(decode(datagram, other));
  EXPECT_FALSE(decode(std::span(datagram).first(kHeaderBytes - 1), secret));
  for (std::size_t i = 0; i < datagram.size(); ++i) {
    auto changed = datagram;
    changed[i] ^= std::byte{0x10};
    EXPECT_FALSE(decode(changed, secret)) << i;
  }
}

}  // namespace
}  // namespace alm::probe

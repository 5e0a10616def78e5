// Blocks that are not there yet when the exchange starts, and blocks reported as they come.
#include <gtest/gtest.h>

#include <random>

#include "transport/channel_test_group.h"

namespace alm::transport {
namespace {

std::vector<PeerId> peers_of(const std::vector<Wire>& sent) {
  std::vector<PeerId> peers;
  for (const Wire& datagram : sent) {
    if (datagram.header().type == wire::Type::kData) peers.push_back(datagram.to);
  }
  return peers;
}

using Peers = std::vector<PeerId>;

TEST(Withheld, OtherPeersOfTheRoundAreServedWithoutIt) {
  Group group(4);
  group.start_withheld(0, 0, 2 * kPacket, {2});
  EXPECT_EQ(peers_of(group.pull(0, 0)), (Peers{1, 3, 1, 3}));
  group.fill_and_make_ready(0, 2, 2 * kPacket);
  EXPECT_EQ(peers_of(group.pull(0, 0)), (Peers{2, 2}));
  group[0].make_ready(2);  // again: nothing happens
  EXPECT_TRUE(peers_of(group.pull(0, 0)).empty());
}

TEST(Withheld, ABlockMadeReadyInTheRunningRoundJoinsItsTurns) {
  Config config;
  config.window_packets = 2;
  Group group(3, config);
  group.start_withheld(0, 0, 4 * kPacket, {2});
  for (PeerId rank = 1; rank < 3; ++rank) group.start(rank, 0, 4 * kPacket);
  EXPECT_EQ(peers_of(group.pull(0, 0)), (Peers{1, 1}));
  group.fill_and_make_ready(0, 2, 4 * kPacket);
  for (int i = 1; i < 50; ++i) group.flow(i * base::kMillisecond);
  for (PeerId rank = 0; rank < 3; ++rank) {
    EXPECT_TRUE(group[rank].complete());
    group.expect_received(rank, 4 * kPacket);
  }
}

TEST(Withheld, TheNextRoundWaitsForIt) {
  Group group(3);
  for (PeerId self = 0; self < 3; ++self) {
    Rounds& rounds = group.rounds(self);
    rounds.send = {(self + 1) % 3, (self + 2) % 3};
    rounds.recv = {(self + 2) % 3, (self + 1) % 3};
    rounds.send_begin = rounds.recv_begin = {0, 1, 2};
  }
  group.start_withheld(0, 0, kPacket, {1});
  group.start(1, 0, kPacket);
  group.start(2, 0, kPacket);
  group.flow(0);  // rank 0 gets what it awaits in its first round
  EXPECT_EQ(group[0].counters().data_sent, 0u);
  group.fill_and_make_ready(0, 1, kPacket);
  group.flow(0);
  for (PeerId rank = 0; rank < 3; ++rank) {
    EXPECT_TRUE(group[rank].complete());
    group.expect_received(rank, kPacket);
  }
}

TEST(Withheld, InALaterRoundItIsPassedOverThere) {
  Group group(4);
  for (PeerId self = 0; self < 4; ++self) {
    Rounds& rounds = group.rounds(self);
    rounds.recv = {(self + 3) % 4, (self + 2) % 4, (self + 1) % 4};
    rounds.send_begin = rounds.recv_begin = {0, 1, 3};
  }
  group.start_withheld(0, 0, kPacket, {2});
  for (PeerId rank = 1; rank < 4; ++rank) group.start(rank, 0, kPacket);
  group.flow(0);
  EXPECT_EQ(group[0].counters().data_sent, 2u);
  EXPECT_FALSE(group[0].complete());
  group.fill_and_make_ready(0, 2, kPacket);
  group.flow(0);
  EXPECT_TRUE(group[0].complete());
  group.expect_received(2, kPacket);
}

TEST(Withheld, ReadyBeforeItsRoundItGoesInItsRound) {
  Group group(3);
  Rounds& rounds = group.rounds(0);
  rounds.send_begin = rounds.recv_begin = {0, 1, 2};
  group.start_withheld(0, 0, kPacket, {2});
  group.fill_and_make_ready(0, 2, kPacket);
  EXPECT_EQ(peers_of(group.pull(0, 0)), (Peers{1}));
  group.start(1, 0, kPacket);
  group.start(2, 0, kPacket);
  group.flow(0);
  EXPECT_TRUE(group[0].complete());
  group.expect_received(2, kPacket);
}

TEST(Withheld, AnEmptyBlockHoldsNothingUp) {
  Group group(2);
  group.start_withheld(0, 0, 0, {1});
  EXPECT_TRUE(group[0].complete());
  group[0].make_ready(1);
  EXPECT_TRUE(group[0].complete());
}

// The receiver asks, and gets answers; the sender neither probes nor resends.
TEST(Withheld, WaitingForItIsNoLoss) {
  Group group(2);
  group.start_withheld(0, 0, kPacket, {1});
  group.start(1, 0, kPacket);
  base::Nanos now = 0;
  for (; now < 3 * base::kSecond; now += base::kMillisecond) group.flow(now);
  EXPECT_EQ(group[0].counters().probes_sent, 0u);
  EXPECT_EQ(group[0].counters().data_retransmitted, 0u);
  EXPECT_GT(group[1].counters().probes_sent, 0u);
  EXPECT_GT(group[0].counters().acks_sent, 0u);
  EXPECT_FALSE(group[0].check_peers(now));
  EXPECT_FALSE(group[1].check_peers(now));
  EXPECT_FALSE(group[0].complete());
  EXPECT_FALSE(group[1].complete());
  group.fill_and_make_ready(0, 1, kPacket);
  group.flow(now);
  EXPECT_TRUE(group[0].complete());
  EXPECT_TRUE(group[1].complete());
  group.expect_received(1, kPacket);
}

TEST(Withheld, TheNextExchangeStartsWithNothingWithheld) {
  Group group(2);
  group.start_withheld(0, 0, kPacket, {1});
  group.start(1, 0, kPacket);
  group.fill_and_make_ready(0, 1, kPacket);
  group.flow(0);
  group[0].release(0);
  group[1].release(0);
  group[0].make_ready(1);  // outside an exchange: nothing happens
  group.start(0, 0, kPacket);
  group.start(1, 0, kPacket);
  group.flow(0);
  EXPECT_TRUE(group[0].complete());
  EXPECT_TRUE(group[1].complete());
}

// Three packets to each of two peers, in the steps 0-2 and 6-8.
void set_steps(Rounds& rounds) {
  rounds.trains = {{1, 3, 0}, {2, 3, 6}};
  rounds.steps = 9;
}

TEST(WithheldInSteps, ALaterTrainGoesFirst) {
  Config config;
  config.window_packets = 1;
  Group group(3, config);
  set_steps(group.rounds(0));
  group.start_withheld(0, 0, 3 * kPacket, {1});
  // Step 6 is not due, so far.
  EXPECT_TRUE(group.pull(0, 0).empty());
  EXPECT_LE(group[0].deadline(), 6 * config.packet_time);
  EXPECT_EQ(peers_of(group.pull(0, 6 * config.packet_time)), (Peers{2}));
  group.fill_and_make_ready(0, 1, 3 * kPacket);
  // It takes a step each from what follows.
  Peers order;
  for (base::Nanos step = 7; step < 20; ++step) {
    const Peers sent = peers_of(group.pull(0, step * config.packet_time));
    EXPECT_LE(sent.size(), 1u) << step;
    order.insert(order.end(), sent.begin(), sent.end());
  }
  EXPECT_EQ(order, (Peers{1, 1, 1, 2, 2}));
}

// Nobody knows how long a step lasts: what is ready and fits the window goes.
TEST(WithheldInSteps, WhoHurriesWaitsForNoStep) {
  Group group(3);
  set_steps(group.rounds(0));
  group.hurries = true;
  group.start_withheld(0, 0, 3 * kPacket, {1});
  EXPECT_EQ(peers_of(group.pull(0, 0)), (Peers{2, 2, 2}));
}

TEST(WithheldInSteps, ATrainMadeReadyInTimeKeepsItsSteps) {
  Group group(3);
  set_steps(group.rounds(0));
  group.start_withheld(0, 0, 3 * kPacket, {1, 2});
  EXPECT_TRUE(group.pull(0, 0).empty());
  group.fill_and_make_ready(0, 1, 3 * kPacket);
  group.fill_and_make_ready(0, 2, 3 * kPacket);
  Peers order;
  for (base::Nanos now = 0; now < 20 * 12'000; now += 1'000) {
    const Peers sent = peers_of(group.pull(0, now));
    order.insert(order.end(), sent.begin(), sent.end());
  }
  EXPECT_EQ(order, (Peers{1, 1, 1, 2, 2, 2}));
}

// It comes in steps in which this rank would idle.
TEST(WithheldInSteps, ALateTrainFillsIdleSteps) {
  Config config;
  config.window_packets = 1;
  Group group(3, config);
  group.rounds(0).trains = {{1, 2, 0}, {2, 1, 1}, {2, 2, 20}};
  group.rounds(0).steps = 22;
  group.start_withheld(0, 0, 3 * kPacket, {1});
  EXPECT_EQ(peers_of(group.pull(0, config.packet_time)), (Peers{2}));
  group.fill_and_make_ready(0, 1, 3 * kPacket);
  Peers early;
  for (base::Nanos step = 2; step < 10; ++step) {
    const Peers sent = peers_of(group.pull(0, step * config.packet_time));
    early.insert(early.end(), sent.begin(), sent.end());
  }
  EXPECT_EQ(early, (Peers{1, 1}));
  EXPECT_EQ(peers_of(group.pull(0, 20 * config.packet_time)), (Peers{2}));
}

TEST(WithheldInSteps, WhatIsReadyAfterTheLastStepGoesInRounds) {
  Group group(3);
  set_steps(group.rounds(0));
  group.start_withheld(0, 0, 3 * kPacket, {1});
  group.start(1, 0, 3 * kPacket);
  group.start(2, 0, 3 * kPacket);
  for (base::Nanos now = 0; now < base::kSecond; now += base::kMillisecond) group.flow(now);
  EXPECT_EQ(group[0].counters().data_sent, 3u);
  group.fill_and_make_ready(0, 1, 3 * kPacket);
  group.flow(base::kSecond);
  EXPECT_TRUE(group[0].complete());
  group.expect_received(1, 3 * kPacket);
}

TEST(Arrivals, EachBlockIsReportedOnceWhenItIsWhole) {
  Group group(3);
  group.start_withheld(0, 0, 2 * kPacket, {});
  for (PeerId rank = 1; rank < 3; ++rank) group.start(rank, 0, 2 * kPacket);
  std::vector<Wire> from_1, from_2;
  for (const Wire& sent : group.pull(1, 0)) {
    if (sent.to == 0) from_1.push_back(sent);
  }
  for (const Wire& sent : group.pull(2, 0)) {
    if (sent.to == 0) from_2.push_back(sent);
  }
  ASSERT_EQ(from_1.size(), 2u);
  group.deliver(from_1[1], 0);
  group.deliver(from_2[0], 0);
  EXPECT_TRUE(group.arrivals(0).empty());
  group.deliver(from_2[1], 0);
  group.deliver(from_1[0], 0);
  EXPECT_EQ(group[0].arrivals(), 2u);
  group.deliver(from_1[0], 0);  // a duplicate
  EXPECT_EQ(group.arrivals(0), (Peers{2, 1}));
  EXPECT_TRUE(group.arrivals(0).empty());
}

TEST(Arrivals, DataFromBeforeTheStartCounts) {
  Group group(3);
  group.start(1, 0, 2 * kPacket);
  for (const Wire& sent : group.pull(1, 0)) group.deliver(sent, 0);
  group.start_withheld(0, 0, 2 * kPacket, {});
  EXPECT_EQ(group.arrivals(0), (Peers{1}));
}

TEST(Arrivals, AreThereAfterTheReleaseAndGoneAfterTheNextStart) {
  Group group(2);
  group.start_withheld(0, 0, kPacket, {});
  group.start(1, 0, kPacket);
  group.flow(0);
  ASSERT_TRUE(group[0].complete());
  group[0].release(0);
  EXPECT_EQ(group[0].arrivals(), 1u);
  group.start_withheld(0, 1, kPacket, {});
  EXPECT_EQ(group[0].arrivals(), 0u);
}

TEST(Arrivals, AreReportedOnlyWhereAskedForAndForBlocksWithBytes) {
  Group group(2);
  group.start(0, 0, kPacket);
  group.start(1, 0, kPacket);
  group.flow(0);
  EXPECT_EQ(group[0].arrivals(), 0u);
  Group empty(2);
  empty.start_withheld(0, 0, 0, {});
  EXPECT_EQ(empty[0].arrivals(), 0u);
}

TEST(Arrivals, NoneAreReportedOfAnAbandonedExchange) {
  Group group(2);
  group.start_withheld(0, 0, kPacket, {});
  group.start(1, 0, kPacket);
  group.flow(0);
  group[0].abandon();
  EXPECT_EQ(group[0].arrivals(), 0u);
}

}  // namespace
}  // namespace alm::transport

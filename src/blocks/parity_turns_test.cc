#include "blocks/parity_turns.h"

#include <gtest/gtest.h>

namespace alm::blocks {
namespace {

constexpr std::uint32_t kFew = 46;

struct Peer {
  SendWindow send;
  ReceiveWindow recv;
};

struct Ranks {
  base::Rounds rounds;
  std::vector<Peer> peers = std::vector<Peer>(3);
  ParityTurns turns;
  bool allows = true;

  explicit Ranks(std::uint32_t packets = kFew) {
    rounds.send = {2, 1};
    rounds.recv = {1, 2};
    rounds.send_begin = rounds.recv_begin = {0, 2};
    for (const base::PeerId peer : rounds.send) {
      peers[peer].send.total = peers[peer].recv.total = packets;
    }
  }
  // Ten exchanges with so many losses in all, and one more that has begun.
  void pass(std::uint32_t lost) {
    for (int i = 0; i < 10; ++i) begin();
    turns.lost(lost);
    begin();
  }
  void begin() {
    turns.begin(rounds,
                {.allows = allows,
                 .largest = peers[1].send.total,
                 .packet_time = 20 * base::kMicrosecond,
                 .round_trip = 10 * base::kMillisecond},
                peers);
  }
  std::vector<base::PeerId> taken() {
    std::vector<base::PeerId> out;
    for (; const auto turn = turns.next(peers); turns.sent()) out.push_back(turn->peer);
    return out;
  }
};

TEST(ParityTurns, NothingIsLeftWhereNothingWasLost) {
  Ranks ranks;
  ranks.pass(0);
  EXPECT_FALSE(ranks.turns.left());
}

TEST(ParityTurns, BlocksGetOneOfEachInTurn) {
  Ranks ranks;
  ranks.pass(10);
  ASSERT_TRUE(ranks.turns.left());
  EXPECT_TRUE(ranks.turns.first_hand());
  for (const base::PeerId peer : {2u, 1u}) {
    const auto turn = ranks.turns.next(ranks.peers);
    ASSERT_TRUE(turn);
    ranks.turns.sent();
    EXPECT_EQ(turn->peer, peer);
    EXPECT_EQ(turn->index, 0u);
  }
  EXPECT_EQ(ranks.turns.next(ranks.peers)->index, 1u);
}

TEST(ParityTurns, WhatIsAcknowledgedGetsNone) {
  Ranks ranks;
  ranks.pass(10);
  ranks.peers[2].send.acked = kFew;
  const auto taken = ranks.taken();
  ASSERT_FALSE(taken.empty());
  for (const base::PeerId peer : taken) EXPECT_EQ(peer, 1u);
  EXPECT_FALSE(ranks.turns.left());
}

TEST(ParityTurns, WhatAPeerHasSeenCountsForAWhile) {
  Ranks ranks;
  ranks.pass(0);
  ranks.turns.told();
  ranks.begin();
  EXPECT_TRUE(ranks.turns.left());
  EXPECT_FALSE(ranks.turns.first_hand());
  for (int i = 0; i < 54; ++i) ranks.begin();
  EXPECT_FALSE(ranks.turns.left());
}

TEST(ParityTurns, ALossIsForgotten) {
  Ranks ranks;
  ranks.pass(1);
  EXPECT_TRUE(ranks.turns.left());
  for (int i = 0; i < 60; ++i) ranks.begin();
  EXPECT_FALSE(ranks.turns.left());
}

TEST(ParityTurns, LongBlocksAndFullLinksGetNone) {
  Ranks longer(blocks::kParityBlockMax + 1);
  longer.pass(10);
  EXPECT_FALSE(longer.turns.left());
  Ranks full;
  full.pass(400);
  EXPECT_FALSE(full.turns.left());
}

TEST(ParityTurns, EndWhereTheLinkIsFull) {
  Ranks ranks;
  ranks.pass(10);
  ASSERT_TRUE(ranks.turns.left());
  ranks.turns.stop();
  EXPECT_FALSE(ranks.turns.left());
}

// What is lost while none are allowed is forgotten as fast.
TEST(ParityTurns, ExchangesWithoutThemCount) {
  Ranks ranks;
  ranks.pass(400);
  ranks.allows = false;
  for (int i = 0; i < 40; ++i) ranks.begin();
  ranks.allows = true;
  ranks.begin();
  EXPECT_TRUE(ranks.turns.left());
}

TEST(ParityTurns, WhatWasOvertakenIsNotLost) {
  Ranks ranks;
  ranks.pass(1);
  ranks.turns.was_late();
  ranks.begin();
  EXPECT_FALSE(ranks.turns.left());
}

TEST(ParityTurns, SufficeWhereAsManyHaveComeAsPacketsLack) {
  ParityTurns turns;
  ReceiveWindow recv;
  recv.total = 4;
  recv.add(0);
  recv.add(2);
  EXPECT_FALSE(turns.suffice(1, recv));
  EXPECT_TRUE(turns.came(1, 0));
  EXPECT_FALSE(turns.came(1, 0));
  EXPECT_FALSE(turns.suffice(1, recv));
  EXPECT_TRUE(turns.came(1, 3));
  EXPECT_TRUE(turns.suffice(1, recv));
}

}  // namespace
}  // namespace alm::blocks

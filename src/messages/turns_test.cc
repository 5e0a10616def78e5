#include "messages/turns.h"

#include <gtest/gtest.h>

namespace alm::messages {
namespace {

// One member of four, two rounds: to 1 and 2, then to 3.
base::Rounds two_rounds(bool interleaved) {
  base::Rounds rounds;
  rounds.send = rounds.recv = {1, 2, 3};
  rounds.send_begin = rounds.recv_begin = {0, 2, 3};
  rounds.interleaved = interleaved;
  return rounds;
}

std::vector<std::size_t> take_all(MessageTurns& turns) {
  std::vector<std::size_t> order;
  while (turns.anything_left() && !turns.held_back()) {
    const auto turn = turns.next();
    if (!turn) break;
    order.push_back(turn->send);
  }
  return order;
}

using Order = std::vector<std::size_t>;

TEST(MessageTurns, ChunksOfARoundAlternateOrNot) {
  for (const bool interleaved : {true, false}) {
    const base::Rounds rounds = two_rounds(interleaved);
    MessageTurns turns;
    turns.start(rounds, {2, 2, 1}, 5, 0);
    EXPECT_EQ(take_all(turns), interleaved ? Order({0, 1, 0, 1}) : Order({0, 0, 1, 1}));
  }
}

TEST(MessageTurns, ChunksOfABlockAreNumbered) {
  const base::Rounds rounds = two_rounds(false);
  MessageTurns turns;
  turns.start(rounds, {2, 1, 1}, 4, 0);
  EXPECT_EQ(turns.next()->chunk, 0u);
  EXPECT_EQ(turns.next()->chunk, 1u);
  EXPECT_EQ(turns.next()->chunk, 0u);
}

TEST(MessageTurns, ARoundEndsWhenAllOfItHasLeftAndCome) {
  const base::Rounds rounds = two_rounds(true);
  MessageTurns turns;
  turns.start(rounds, {1, 1, 1}, 3, 0);
  turns.whole(0);
  turns.whole(1);
  EXPECT_FALSE(turns.end_round());
  take_all(turns);
  EXPECT_TRUE(turns.end_round());
  EXPECT_EQ(take_all(turns), Order({2}));
  EXPECT_FALSE(turns.end_round());
  turns.whole(2);
  EXPECT_TRUE(turns.end_round());
  EXPECT_TRUE(turns.over());
}

TEST(MessageTurns, WithheldBlocksArePassedOver) {
  const base::Rounds rounds = two_rounds(true);
  MessageTurns turns;
  turns.start(rounds, {2, 2, 1}, 5, 0);
  turns.withhold(0);
  EXPECT_EQ(take_all(turns), Order({1, 1}));
  turns.make_ready(1);
  EXPECT_EQ(take_all(turns), Order({0, 0}));
}

TEST(MessageTurns, WhatComesMakesRoom) {
  const base::Rounds rounds = two_rounds(true);
  MessageTurns turns;
  turns.start(rounds, {3, 3, 1}, 7, 2);
  turns.came();  // before anything was sent: no credit
  EXPECT_EQ(take_all(turns).size(), 2u);
  turns.came();
  EXPECT_EQ(take_all(turns).size(), 1u);
  turns.relent();
  EXPECT_EQ(take_all(turns).size(), 1u);
}

TEST(MessageTurns, ARankToWhichNothingComesIsNotHeldBack) {
  const base::Rounds rounds = two_rounds(true);
  MessageTurns turns;
  turns.start(rounds, {3, 3, 1}, 0, 2);
  EXPECT_EQ(take_all(turns).size(), 6u);
}

}  // namespace
}  // namespace alm::messages

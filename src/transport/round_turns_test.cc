#include "transport/round_turns.h"

#include <gtest/gtest.h>

namespace alm::transport {
namespace {

// Two rounds of two partners each, in both directions.
Rounds two_rounds() {
  Rounds rounds;
  rounds.send = rounds.recv = {1, 2, 3, 4};
  rounds.send_begin = rounds.recv_begin = {0, 2, 4};
  return rounds;
}

class RoundTurnsTest : public testing::Test {
 protected:
  RoundTurnsTest() : peers_(5) {
    for (PeerId id = 1; id < 5; ++id) peers_[id].send.total = peers_[id].recv.total = 4;
  }
  void begin(std::vector<std::uint8_t> withheld = {}) {
    for (PeerId id = 0; id < withheld.size(); ++id) peers_[id].withheld = withheld[id] != 0;
    partners_ = turns_.begin(rounds_, withheld, peers_);
    turns_.set_lengths(2, span_);
    turns_.enter(peers_);
  }
  // Who the next packets go to, until none may be sent.
  std::vector<PeerId> send(int most = 100) {
    std::vector<PeerId> sent;
    while (most-- > 0 && turns_.choose(peers_, [this] { ++cycles_; })) {
      const PeerId id = turns_.partner();
      ++peers_[id].send.next;
      turns_.sent(peers_[id].send.exhausted());
      sent.push_back(id);
    }
    return sent;
  }
  void receive_round(std::uint32_t round) {
    for (int i = 0; i < 8; ++i) turns_.came(round);
  }

  Rounds rounds_ = two_rounds();
  RoundTurns turns_;
  std::uint32_t span_ = 256;
  std::vector<Peer> peers_;
  std::size_t partners_ = 0;
  int cycles_ = 0;
};

using Order = std::vector<PeerId>;

TEST_F(RoundTurnsTest, TrainsGoToThePartnersInTurn) {
  begin();
  EXPECT_EQ(partners_, 2u);
  EXPECT_EQ(peers_[3].round, 1u);
  EXPECT_EQ(send(), (Order{1, 1, 2, 2, 1, 1, 2, 2}));
  EXPECT_GE(cycles_, 1);
}

TEST_F(RoundTurnsTest, ARoundBeginsOnceTheOneBeforeHasComeToo) {
  begin();
  send();
  EXPECT_EQ(turns_.round(), 0u);
  receive_round(0);
  EXPECT_EQ(send(), (Order{3, 3, 4, 4, 3, 3, 4, 4}));
  EXPECT_EQ(turns_.round(), 1u);
}

TEST_F(RoundTurnsTest, BlocksGoOneAfterTheOtherWhereNobodyTakesTurns) {
  rounds_.interleaved = false;
  begin();
  EXPECT_EQ(send(), (Order{1, 1, 1, 1, 2, 2, 2, 2}));
}

TEST_F(RoundTurnsTest, AWithheldBlockIsSkippedAndHoldsItsRound) {
  begin({0, 1, 0, 1, 0});
  EXPECT_TRUE(turns_.withholds());
  EXPECT_EQ(send(), (Order{2, 2, 2, 2}));
  receive_round(0);
  EXPECT_EQ(send(), Order{});
  peers_[3].withheld = false;
  turns_.make_ready(3);  // of a later round
  EXPECT_EQ(send(), Order{});
  peers_[1].withheld = false;
  turns_.make_ready(1);
  EXPECT_EQ(send(4), (Order{1, 1, 1, 1}));
  EXPECT_EQ(send(), (Order{3, 3, 4, 4, 3, 3, 4, 4}));
}

TEST_F(RoundTurnsTest, APartnerThatIsFarAheadOfItsAcknowledgementsIsPassedBy) {
  span_ = 2;
  begin();
  EXPECT_EQ(send(), (Order{1, 1, 2, 2}));
  peers_[2].send.advance_acked(2);
  EXPECT_EQ(send(), (Order{2, 2}));
}

TEST_F(RoundTurnsTest, SaysWhoIsLikelyToBeNext) {
  begin();
  ASSERT_NE(turns_.likely(), nullptr);
  EXPECT_EQ(*turns_.likely(), 1u);
  send(2);
  EXPECT_EQ(*turns_.likely(), 2u);
  turns_.abandon();
  EXPECT_EQ(turns_.likely(), nullptr);
}

}  // namespace
}  // namespace alm::transport

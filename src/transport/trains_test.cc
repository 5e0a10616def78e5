#include "transport/trains.h"

#include <gtest/gtest.h>

#include <utility>

namespace alm::transport {
namespace {

class TrainsTest : public testing::Test {
 protected:
  TrainsTest() : peers_(4) {
    for (Peer& peer : peers_) peer.send.total = 4;
  }
  using Sent = std::vector<std::pair<PeerId, std::uint64_t>>;
  // Peers and steps of the next packets; `late` trains are not looked at.
  Sent send(int most = 100) {
    Sent sent;
    while (most-- > 0 && trains_.any() && trains_.pass_over_withheld(peers_)) {
      const PeerId id = trains_.next().peer;
      sent.emplace_back(id, trains_.step());
      ++peers_[id].send.next;
      trains_.sent(peers_);
    }
    return sent;
  }

  std::vector<Train> plan_ = {{1, 2, 0}, {2, 2, 5}, {3, 1, 8}, {1, 2, 10}};
  std::vector<Peer> peers_;
  Trains trains_;
};

TEST_F(TrainsTest, APacketGoesInEachStepOfATrain) {
  trains_.begin(plan_, peers_);
  EXPECT_EQ(send(), (Sent{{1, 0}, {1, 1}, {2, 5}, {2, 6}, {3, 8}, {1, 10}, {1, 11}}));
  EXPECT_FALSE(trains_.any());
}

TEST_F(TrainsTest, ABlockThatIsShorterThanItsTrainsEndsThem) {
  peers_[1].send.total = 1;
  peers_[2].send.total = 0;
  trains_.begin(plan_, peers_);
  EXPECT_EQ(send(), (Sent{{1, 0}, {3, 8}}));
}

TEST_F(TrainsTest, AWithheldTrainIsPassedOverAndIsLateOnceItIsReady) {
  peers_[1].withheld = true;
  trains_.begin(plan_, peers_);
  EXPECT_EQ(send(1), (Sent{{2, 5}}));
  EXPECT_EQ(trains_.passed().size(), 1u);
  EXPECT_EQ(trains_.late(peers_), nullptr);
  peers_[1].withheld = false;
  trains_.make_ready(1);
  for (int i = 0; i < 2; ++i) {
    const Train* late = trains_.late(peers_);
    ASSERT_NE(late, nullptr);
    EXPECT_EQ(late->peer, 1u);
    ++peers_[1].send.next;
    trains_.late_sent(peers_);
  }
  EXPECT_EQ(trains_.late(peers_), nullptr);
  EXPECT_EQ(send(), (Sent{{2, 6}, {3, 8}, {1, 10}, {1, 11}}));
}

TEST_F(TrainsTest, NothingIsPassedOverWhereAllIsWithheld) {
  for (Peer& peer : peers_) peer.withheld = true;
  trains_.begin(plan_, peers_);
  EXPECT_EQ(send(), Sent{});
  EXPECT_TRUE(trains_.passed().empty());
  peers_[3].withheld = false;
  trains_.make_ready(3);
  EXPECT_EQ(send(1), (Sent{{3, 8}}));
  EXPECT_EQ(trains_.passed().size(), 2u);
}

}  // namespace
}  // namespace alm::transport

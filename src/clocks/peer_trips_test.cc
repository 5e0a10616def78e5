#include "clocks/peer_trips.h"

#include <gtest/gtest.h>

namespace alm::clocks {
namespace {

constexpr std::uint32_t kPeers = 3;

TEST(PeerTrips, TheShortestTimeOfAPeerCountsAndTheFarthestPeer) {
  PeerTrips trips(kPeers);
  trips.carried(0, 30);
  trips.carried(1, 70);
  trips.carried(1, 50);
  trips.carried(2, 40);
  trips.answered(2);
  EXPECT_EQ(trips.seen(10).farthest, 0) << "the exchange runs";
  trips.end(false);
  EXPECT_EQ(trips.seen(10).nearest, 10);
  EXPECT_EQ(trips.seen(10).farthest, 50);
  EXPECT_EQ(trips.seen(10).answered, 40) << "the farthest was not asked";
  trips.answered(1);
  trips.carried(1, 45);
  trips.end(false);
  EXPECT_EQ(trips.seen(10).answered, 45) << "it has acknowledged sooner since";
}

TEST(PeerTrips, TheFarthestPeerIsAskedOnce) {
  PeerTrips trips(kPeers);
  trips.end(true);
  for (std::uint32_t peer = 0; peer < kPeers; ++peer) EXPECT_FALSE(trips.asks(peer)) << "unknown";
  trips.carried(1, 70);
  trips.carried(2, 60);
  trips.end(false);
  EXPECT_FALSE(trips.asks(1));
  trips.end(true);
  EXPECT_TRUE(trips.asks(1));
  EXPECT_FALSE(trips.asks(2));
  trips.end(false);
  EXPECT_TRUE(trips.asks(1)) << "it could not be asked in that exchange";
  trips.asked();
  EXPECT_FALSE(trips.asks(1));
}

}  // namespace
}  // namespace alm::clocks

#include "transport/owed_acks.h"

#include <gtest/gtest.h>

namespace alm::transport {
namespace {

TEST(OwedAcks, AreOwedUntilThePeerIsToldOfTheLatestExchange) {
  OwedAcks acks;
  Peer peer;
  EXPECT_TRUE(acks.owe(100, &peer, 3));
  EXPECT_FALSE(acks.owe(200, &peer, 4));
  EXPECT_EQ(peer.owed_since, 100);
  acks.pay(&peer, 3);
  EXPECT_EQ(acks.owing(), 1u) << "it says nothing of exchange 4";
  acks.pay(&peer, 4);
  acks.pay(&peer, 4);
  EXPECT_EQ(acks.owing(), 0u);
}

TEST(OwedAcks, OneReplyIsQueuedForAPeer) {
  OwedAcks acks;
  Peer peer;
  Aside aside;
  acks.reply(5, &peer, &aside, 1, 9);
  acks.reply(5, &peer, &aside, 2, 0);
  EXPECT_EQ(aside.reply_exchange, 2u);
  EXPECT_EQ(peer.echo, 9u) << "the probe is still to be answered";
  EXPECT_EQ(acks.take(), 5u);
  EXPECT_FALSE(acks.queued());
}

TEST(OwedAcks, BitmapsGoInTurnWhereOneDoesNotCoverWhatHasCome) {
  ReceiveWindow recv;
  recv.total = recv.seen = wire::kBitmapBits + 10;
  for (std::uint32_t packet = 1; packet < recv.total; ++packet) recv.add(packet);
  std::uint32_t turn = 0;
  EXPECT_EQ(OwedAcks::tell(recv, 7, &turn).begin, 0u);
  const wire::AckBody second = OwedAcks::tell(recv, 7, &turn);
  EXPECT_EQ(second.begin, wire::kBitmapBits);
  EXPECT_EQ(second.echo, 7u);
  EXPECT_EQ(second.bitmap[0], (std::uint64_t{1} << 10) - 1);
  EXPECT_EQ(OwedAcks::tell(recv, 7, &turn).begin, 0u);
}

}  // namespace
}  // namespace alm::transport

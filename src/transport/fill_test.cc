// Packets that carry nothing (Channel::fill).
#include <gtest/gtest.h>

#include "transport/channel_test_group.h"

namespace alm::transport {
namespace {

TEST(Fill, GoesAtOnceAndIsCounted) {
  Config config;
  config.window_packets = 1;
  Group group(3, config);
  group[0].fill(5, 70);
  EXPECT_FALSE(group[0].settled());
  const auto sent = group.pull(0, 0);
  ASSERT_EQ(sent.size(), 10u);
  for (const Wire& one : sent) {
    EXPECT_EQ(one.header().type, wire::Type::kFill);
    EXPECT_EQ(one.bytes.size(), wire::kHeaderBytes + 70);
    EXPECT_TRUE(group.deliver(one, 0));
  }
  EXPECT_TRUE(group[0].settled());
  EXPECT_EQ(group[0].counters().fills.sent, 10u);
  for (const PeerId peer : {1U, 2U}) EXPECT_EQ(group[peer].counters().fills.received, 5u);
}

TEST(Fill, IsNotAnsweredAndDelaysNoExchange) {
  Group group(2);
  group[0].fill(5, 70);
  for (const PeerId self : {0U, 1U}) group.start(self, 0, 3 * kPacket);
  group.flow(0);
  for (const PeerId self : {0U, 1U}) {
    EXPECT_TRUE(group[self].complete());
    group.expect_received(self, 3 * kPacket);
    EXPECT_EQ(group[self].counters().data_retransmitted, 0u);
  }
  EXPECT_EQ(group[1].counters().fills.received, 5u);
}

TEST(Fill, OfOneBeforeThatComesLateNothingIsCounted) {
  Group group(2);
  group[0].fill(3, 70);
  const auto late = group.pull(0, 0);
  group[0].fill(2, 70);
  for (const Wire& one : group.pull(0, 0)) group.deliver(one, 0);
  for (const Wire& one : late) group.deliver(one, 0);
  EXPECT_EQ(group[0].counters().fills.number, 2u);
  EXPECT_EQ(group[0].counters().fills.sent, 2u);
  EXPECT_EQ(group[1].counters().fills.seen, 2u);
  EXPECT_EQ(group[1].counters().fills.received, 2u);
}

TEST(Fill, EndsWithTheChannel) {
  Group group(2);
  group[0].fill(3, 70);
  group[0].abandon();
  EXPECT_TRUE(group.pull(0, 0).empty());
}

TEST(Fill, WhatIsForgedIsNotCounted) {
  Group group(2);
  group[0].fill(1, 70);
  auto sent = group.pull(0, 0);
  ASSERT_EQ(sent.size(), 1u);
  sent.front().bytes[wire::kHeaderBytes - 1] ^= std::byte{1};  // in the checksum
  EXPECT_FALSE(group.deliver(sent.front(), 0));
  EXPECT_EQ(group[1].counters().fills.received, 0u);
}

TEST(Fill, OfARankAloneIsNone) {
  Group group(1);
  group[0].fill(5, 70);
  EXPECT_TRUE(group[0].settled());
  EXPECT_TRUE(group.pull(0, 0).empty());
}

}  // namespace
}  // namespace alm::transport

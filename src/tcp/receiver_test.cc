// When a receiver acknowledges, and what it tells.
#include "tcp/receiver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace alm::tcp {
namespace {

using base::kMillisecond;
using base::kNever;
using base::Nanos;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::uint32_t kBytes = 1000;

Config plain() {
  Config out;
  out.segment_bytes = kBytes;
  out.quick_acks = 0;
  return out;
}

Segment data(std::uint32_t number, std::uint32_t bytes = kBytes) {
  return {.begin = Position{number} * kBytes, .bytes = bytes};
}

Segment ack_of(Receiver& receiver) {
  Segment out;
  receiver.acknowledge(out, true);
  return out;
}

std::vector<Range> sacks_of(const Segment& ack) {
  return {ack.sacks.begin(), ack.sacks.begin() + ack.sack_count};
}

TEST(Receiver, EverySecondSegmentIsAcknowledgedAtOnce) {
  const Config config = plain();
  Receiver receiver(config);
  receiver.take(data(0), 0);
  EXPECT_FALSE(receiver.due());
  EXPECT_EQ(receiver.deadline(), 40 * kMillisecond);
  receiver.take(data(1), kMillisecond);
  EXPECT_TRUE(receiver.due());
  EXPECT_EQ(ack_of(receiver).ack, 2 * kBytes);
  EXPECT_FALSE(receiver.due());
  EXPECT_EQ(receiver.deadline(), kNever);
}

TEST(Receiver, ASingleSegmentIsAcknowledgedAfter40Ms) {
  const Config config = plain();
  Receiver receiver(config);
  receiver.take(data(0, 300), 5 * kMillisecond);
  ASSERT_EQ(receiver.deadline(), 45 * kMillisecond);
  receiver.on_timer();
  EXPECT_TRUE(receiver.due());
  EXPECT_EQ(ack_of(receiver).ack, 300u);
}

TEST(Receiver, TheFirstSegmentsAreAcknowledgedAtOnceUntilDataGoBothWays) {
  Config config = plain();
  config.quick_acks = 16;
  Receiver receiver(config);
  for (std::uint32_t i = 0; i < 3; ++i) {
    receiver.take(data(i), i);
    EXPECT_TRUE(receiver.due()) << i;
    ack_of(receiver);
  }
  receiver.data_sent(4);
  receiver.take(data(3), 5);
  EXPECT_FALSE(receiver.due());
}

TEST(Receiver, QuickAcknowledgementsEndAfter16AndComeBackAfterAPause) {
  Config config = plain();
  config.quick_acks = 16;
  Receiver receiver(config);
  Nanos now = 0;
  for (std::uint32_t i = 0; i < 16; ++i) {
    receiver.take(data(i), ++now);
    ack_of(receiver);
  }
  receiver.take(data(16), ++now);
  EXPECT_FALSE(receiver.due());
  ack_of(receiver);
  receiver.take(data(17), now + 201 * kMillisecond);
  EXPECT_TRUE(receiver.due());
}

TEST(Receiver, AHoleIsToldAtOnceTheLatestFirst) {
  const Config config = plain();
  Receiver receiver(config);
  receiver.take(data(0), 0);
  receiver.take(data(2), 0);
  receiver.take(data(4), 0);
  receiver.take(data(6), 0);
  EXPECT_TRUE(receiver.due());
  Segment ack = ack_of(receiver);
  EXPECT_EQ(ack.ack, kBytes);
  EXPECT_THAT(sacks_of(ack), ElementsAre(Range{6000, 7000}, Range{4000, 5000}, Range{2000, 3000}));
  receiver.take(data(8), 0);  // three fit: the oldest is left out
  EXPECT_THAT(sacks_of(ack_of(receiver)),
              ElementsAre(Range{8000, 9000}, Range{6000, 7000}, Range{4000, 5000}));
  receiver.take(data(3), 0);  // joins two, and is the latest
  EXPECT_THAT(sacks_of(ack_of(receiver)),
              ElementsAre(Range{2000, 5000}, Range{8000, 9000}, Range{6000, 7000}));
}

TEST(Receiver, AHoleThatIsFilledIsAcknowledgedAtOnce) {
  const Config config = plain();
  Receiver receiver(config);
  receiver.take(data(1), 0);
  ack_of(receiver);
  receiver.take(data(0, 1000), 0);
  EXPECT_TRUE(receiver.due());
  const Segment ack = ack_of(receiver);
  EXPECT_EQ(ack.ack, 2 * kBytes);
  EXPECT_THAT(sacks_of(ack), IsEmpty());
}

TEST(Receiver, WhatComesTwiceIsToldOnce) {
  const Config config = plain();
  Receiver receiver(config);
  receiver.take(data(0), 0);
  receiver.take(data(1), 0);
  ack_of(receiver);
  receiver.take(data(0), 0);
  ASSERT_TRUE(receiver.due());
  const Segment ack = ack_of(receiver);
  EXPECT_TRUE(ack.duplicate);
  EXPECT_THAT(sacks_of(ack), ElementsAre(Range{0, 1000}));
  EXPECT_FALSE(ack_of(receiver).duplicate);
  EXPECT_EQ(receiver.duplicates(), 1u);
}

TEST(Receiver, WithoutSackEachSegmentBeyondAHoleRepeatsTheAcknowledgement) {
  Config config = plain();
  config.sack = false;
  Receiver receiver(config);
  for (const std::uint32_t number : {1u, 2u, 3u}) receiver.take(data(number), 0);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(receiver.due()) << i;
    EXPECT_EQ(ack_of(receiver).ack, 0u);
  }
  EXPECT_FALSE(receiver.due());
}

TEST(Receiver, MarksAreEchoedUntilTheSenderHasReduced) {
  Config config = plain();
  config.ecn = true;
  Receiver receiver(config);
  Segment marked = data(0);
  marked.marked = true;
  receiver.take(marked, 0);
  EXPECT_TRUE(ack_of(receiver).echo);
  receiver.take(data(1), 0);
  EXPECT_TRUE(ack_of(receiver).echo);
  Segment reduced = data(2);
  reduced.reduced = true;
  receiver.take(reduced, 0);
  EXPECT_FALSE(ack_of(receiver).echo);
}

// RFC 8257, 3.2: an acknowledgement covers marked segments or others, never both.
TEST(Receiver, DctcpAcknowledgesWhereMarksChange) {
  Config config = plain();
  config.control = Control::kDctcp;
  Receiver receiver(config);
  receiver.take(data(0), 0);
  EXPECT_FALSE(receiver.due());
  Segment marked = data(1);
  marked.marked = true;
  receiver.take(marked, 0);
  ASSERT_TRUE(receiver.must_go_alone());
  const Segment before = ack_of(receiver);
  EXPECT_EQ(before.ack, kBytes);
  EXPECT_FALSE(before.echo);
  ASSERT_TRUE(receiver.due());
  const Segment after = ack_of(receiver);
  EXPECT_EQ(after.ack, 2 * kBytes);
  EXPECT_TRUE(after.echo);
}

}  // namespace
}  // namespace alm::tcp

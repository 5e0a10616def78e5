// What a sender does with acknowledgements, holes and silence: RFC 5681, 6298, 6582, 6675, 8985.
#include "tcp/sender.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <vector>

namespace alm::tcp {
namespace {

using base::kMillisecond;
using base::kNever;
using base::Nanos;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::uint32_t kBytes = 1000;

Config plain(Control control = Control::kNewReno) {
  Config out;
  out.control = control;
  out.segment_bytes = kBytes;
  out.rack = false;
  return out;
}

// Numbers of the segments that may go now.
std::vector<std::uint64_t> send_all(Sender& sender, Nanos now) {
  std::vector<std::uint64_t> out;
  while (sender.may_send()) out.push_back(sender.next(now).begin / kBytes);
  return out;
}

// So many segments are written, and what may go leaves at once.
void begin(Sender& sender, std::uint64_t segments) {
  sender.write(segments * kBytes);
  send_all(sender, 0);
}

Segment ack(std::uint64_t number, std::initializer_list<Range> sacked = {}) {
  Segment out{.ack = number * kBytes};
  for (const Range& range : sacked) {
    out.sacks[out.sack_count++] = {range.begin * kBytes, range.end * kBytes};
  }
  return out;
}

TEST(Sender, BeginsWithTheInitialWindowAndASegmentIsShortWhereTheStreamEnds) {
  const Config config = plain();
  Sender sender(config);
  sender.write(2500);
  EXPECT_EQ(sender.next(0).bytes, kBytes);
  EXPECT_EQ(sender.next(0).bytes, kBytes);
  EXPECT_EQ(sender.next(0).bytes, 500u);
  EXPECT_FALSE(sender.may_send());
  sender.write(20 * kBytes);
  EXPECT_EQ(send_all(sender, 0).size(), 7u);  // ten with the three above
}

TEST(Sender, SlowStartSendsTwoForEachAcknowledged) {
  const Config config = plain();
  Sender sender(config);
  begin(sender, 100);
  sender.acknowledged(ack(1), kMillisecond);
  EXPECT_THAT(send_all(sender, kMillisecond), ElementsAre(10, 11));
  sender.acknowledged(ack(3), kMillisecond);
  EXPECT_THAT(send_all(sender, kMillisecond), ElementsAre(12, 13, 14, 15));
}

TEST(Sender, AWindowThatIsNotUsedDoesNotOpen) {
  const Config config = plain();
  Sender sender(config);
  for (std::uint64_t i = 0; i < 20; ++i) {
    sender.write(2 * kBytes);
    send_all(sender, static_cast<Nanos>(i));
    sender.acknowledged(ack(2 * i + 2), static_cast<Nanos>(i));
  }
  EXPECT_EQ(sender.window().segments(), 10u);
}

// RFC 6675: the third segment SACKed above a hole shows the loss; it goes at once; then the rest
// while less is under way than the halved window.
TEST(Sender, ThreeSackedSegmentsShowALoss) {
  const Config config = plain();
  Sender sender(config);
  begin(sender, 100);
  sender.acknowledged(ack(0, {{1, 2}}), kMillisecond);
  EXPECT_THAT(send_all(sender, kMillisecond), ElementsAre(10));  // RFC 3042: limited transmit
  sender.acknowledged(ack(0, {{1, 3}}), kMillisecond);
  EXPECT_THAT(send_all(sender, kMillisecond), ElementsAre(11));
  sender.acknowledged(ack(0, {{1, 4}}), kMillisecond);
  EXPECT_TRUE(sender.in_recovery());
  EXPECT_EQ(sender.window().segments(), 5u);
  EXPECT_EQ(sender.outstanding().flying(), 8u);
  EXPECT_THAT(send_all(sender, kMillisecond), ElementsAre(0));
  // Nine under way: five more must have come before anything new goes.
  sender.acknowledged(ack(0, {{1, 8}}), kMillisecond);
  EXPECT_THAT(send_all(sender, kMillisecond), IsEmpty());
  sender.acknowledged(ack(0, {{1, 9}}), kMillisecond);
  EXPECT_THAT(send_all(sender, kMillisecond), ElementsAre(12));
  sender.acknowledged(ack(12), 2 * kMillisecond);
  EXPECT_FALSE(sender.in_recovery());
  EXPECT_EQ(sender.window().segments(), 5u);
  EXPECT_EQ(sender.counters().resent, 1u);
  EXPECT_EQ(sender.counters().timeouts, 0u);
}

TEST(Sender, SeveralLossesOfAWindowCutItOnce) {
  const Config config = plain();
  Sender sender(config);
  begin(sender, 10);
  sender.acknowledged(ack(0, {{1, 2}, {3, 4}, {5, 6}}), kMillisecond);
  sender.acknowledged(ack(0, {{5, 10}, {3, 4}, {1, 2}}), kMillisecond);
  EXPECT_EQ(sender.window().segments(), 5u);
  EXPECT_THAT(send_all(sender, kMillisecond), ElementsAre(0, 2, 4));
  EXPECT_EQ(sender.counters().cuts, 1u);
}

// RFC 6582: without SACK the third repetition resends the first, and each partial acknowledgement
// the next hole.
TEST(Sender, WithoutSackPartialAcknowledgementsShowTheNextHole) {
  Config config = plain();
  config.sack = false;
  Sender sender(config);
  begin(sender, 100);
  sender.acknowledged(ack(0), kMillisecond);
  sender.acknowledged(ack(0), kMillisecond);
  EXPECT_FALSE(sender.in_recovery());
  sender.acknowledged(ack(0), kMillisecond);
  ASSERT_TRUE(sender.in_recovery());
  const auto sent = send_all(sender, kMillisecond);
  ASSERT_FALSE(sent.empty());
  EXPECT_EQ(sent.front(), 0u);
  sender.acknowledged(ack(4), 2 * kMillisecond);
  EXPECT_TRUE(sender.in_recovery());
  const auto more = send_all(sender, 2 * kMillisecond);
  ASSERT_FALSE(more.empty());
  EXPECT_EQ(more.front(), 4u);
  EXPECT_EQ(sender.counters().resent, 2u);
}

TEST(Sender, SilenceForTheTimeoutLosesEverythingAndDoubles) {
  const Config config = plain();
  Sender sender(config);
  begin(sender, 4);
  sender.acknowledged(ack(1), 10 * kMillisecond);
  // srtt 10 ms, rttvar 5 ms
  ASSERT_EQ(sender.deadline(), (10 + 10 + 200) * kMillisecond);
  sender.on_timer(220 * kMillisecond);
  EXPECT_EQ(sender.counters().timeouts, 1u);
  EXPECT_EQ(sender.window().segments(), 1u);
  EXPECT_THAT(send_all(sender, 220 * kMillisecond), ElementsAre(1));
  EXPECT_EQ(sender.deadline(), (220 + 2 * 210) * kMillisecond);
  sender.acknowledged(ack(2), 230 * kMillisecond);
  EXPECT_THAT(send_all(sender, 230 * kMillisecond), ElementsAre(2, 3));
  sender.acknowledged(ack(4), 240 * kMillisecond);
  EXPECT_FALSE(sender.in_recovery());
  EXPECT_EQ(sender.deadline(), kNever);
}

TEST(Sender, WhatIsSackedIsNotSentAgainAfterATimeout) {
  const Config config = plain();
  Sender sender(config);
  begin(sender, 3);
  sender.acknowledged(ack(0, {{1, 2}}), kMillisecond);
  sender.on_timer(sender.deadline());
  EXPECT_THAT(send_all(sender, 300 * kMillisecond), ElementsAre(0));
  sender.acknowledged(ack(2), 301 * kMillisecond);
  EXPECT_THAT(send_all(sender, 301 * kMillisecond), ElementsAre(2));
}

TEST(Sender, APauseClosesTheWindow) {
  const Config config = plain();
  Sender sender(config);
  sender.write(30 * kBytes);
  std::uint64_t come = 0;
  Nanos now = kMillisecond;
  while (come < 30) {
    come += send_all(sender, now).size();
    now += kMillisecond;
    sender.acknowledged(ack(come), now);
  }
  const std::uint32_t before = sender.window().segments();
  ASSERT_GT(before, 20u);
  sender.write(kBytes);
  send_all(sender, now + 250 * kMillisecond);
  EXPECT_EQ(sender.window().segments(), before / 2);
}

// RFC 8985, section 7.
TEST(Sender, ALostTailIsProbedAfterTwoRoundTrips) {
  Config config = plain();
  config.rack = true;
  Sender sender(config);
  begin(sender, 4);
  sender.acknowledged(ack(2), 10 * kMillisecond);
  ASSERT_EQ(sender.deadline(), (10 + 2 * 10 + 8) * kMillisecond);
  sender.on_timer(38 * kMillisecond);
  EXPECT_THAT(send_all(sender, 38 * kMillisecond), ElementsAre(3));
  EXPECT_EQ(sender.counters().probes, 1u);
  // Once per flight: then the time-out counts from the probe.
  EXPECT_EQ(sender.deadline(), (38 + 10 + 200) * kMillisecond);
  // The probe's SACK shows the loss of the segment before it, by time.
  sender.acknowledged(ack(2, {{3, 4}}), 48 * kMillisecond);
  EXPECT_TRUE(sender.in_recovery());
  EXPECT_THAT(send_all(sender, 48 * kMillisecond), ElementsAre(2));
  EXPECT_EQ(sender.counters().timeouts, 0u);
}

TEST(Sender, AProbeThatWaitsForTheLinkIsDroppedWhenAnAcknowledgementComes) {
  Config config = plain();
  config.rack = true;
  Sender sender(config);
  begin(sender, 3);
  sender.acknowledged(ack(1), 10 * kMillisecond);
  sender.on_timer(38 * kMillisecond);
  EXPECT_TRUE(sender.may_send());
  sender.acknowledged(ack(3), 39 * kMillisecond);
  EXPECT_FALSE(sender.may_send());
  EXPECT_EQ(sender.window().segments(), 10u);
}

TEST(Sender, AProbeThatFillsTheHoleCountsAsALoss) {
  Config config = plain();
  config.rack = true;
  for (const bool lost : {true, false}) {
    Sender sender(config);
    begin(sender, 3);
    sender.acknowledged(ack(1), 10 * kMillisecond);
    sender.on_timer(38 * kMillisecond);
    send_all(sender, 38 * kMillisecond);
    Segment answer = ack(3);
    answer.duplicate = !lost;
    sender.acknowledged(answer, 48 * kMillisecond);
    EXPECT_EQ(sender.window().segments(), lost ? 5u : 10u);
  }
}

// RFC 8985, 6.2: what was sent before something that has come is lost, resent segments as well.
TEST(Sender, ASegmentThatIsLostAgainIsFoundByTime) {
  Config config = plain();
  config.rack = true;
  Sender sender(config);
  begin(sender, 100);
  sender.acknowledged(ack(0, {{1, 10}}), 10 * kMillisecond);
  const auto sent = send_all(sender, 10 * kMillisecond);
  ASSERT_GE(sent.size(), 2u);
  EXPECT_EQ(sent.front(), 0u);
  EXPECT_EQ(sent[1], 10u);
  // A segment that was sent after it has come.
  sender.acknowledged(ack(0, {{11, 12}, {1, 10}}), 21 * kMillisecond);
  EXPECT_THAT(send_all(sender, 21 * kMillisecond).front(), 0u);
  EXPECT_EQ(sender.counters().timeouts, 0u);
  EXPECT_EQ(sender.counters().cuts, 1u);
}

TEST(Sender, MarksCutOncePerWindow) {
  Config config = plain();
  config.ecn = true;
  Sender sender(config);
  sender.write(100 * kBytes);
  EXPECT_TRUE(sender.next(0).wants_marks);
  send_all(sender, 0);
  Segment echo = ack(1);
  echo.echo = true;
  sender.acknowledged(echo, kMillisecond);
  EXPECT_EQ(sender.window().segments(), 5u);
  echo.ack = 6 * kBytes;
  sender.acknowledged(echo, kMillisecond);
  EXPECT_EQ(sender.window().segments(), 5u);
  EXPECT_TRUE(sender.next(kMillisecond).reduced);
  EXPECT_EQ(sender.counters().resent, 0u);
}

}  // namespace
}  // namespace alm::tcp

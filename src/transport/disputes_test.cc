#include "transport/disputes.h"

#include <gtest/gtest.h>

namespace alm::transport {
namespace {

TEST(Disputes, ABlockIsInDisputeForItsExchange) {
  Disputes disputes(0, 3);
  disputes.dispute(2, 7, true);
  EXPECT_TRUE(disputes.open());
  EXPECT_TRUE(disputes.disputed(2, 7));
  EXPECT_FALSE(disputes.disputed(2, 6));
  EXPECT_FALSE(disputes.disputed(1, 7));
  disputes.begin();
  EXPECT_FALSE(disputes.open());
}

TEST(Disputes, ABlockOfTheExchangeBeforeHoldsNothingUpAndIsAskedForOnce) {
  Disputes disputes(0, 3);
  disputes.dispute(1, 0, false);
  EXPECT_FALSE(disputes.open());
  EXPECT_TRUE(disputes.disputed(1, 0));
  disputes.asked(1);
  EXPECT_FALSE(disputes.disputed(1, 0));
}

TEST(Disputes, SaysWhoSendsWhatAndWhoExpectsWhat) {
  const Disputes disputes(4, 8);
  const wire::ProbeBody ours{0, 100, 200};
  EXPECT_FALSE(disputes.compare(5, ours, {0, 200, 100}));
  const auto sent = disputes.compare(5, ours, {0, 200, 90});
  ASSERT_TRUE(sent);
  EXPECT_EQ(sent->from, 4u);
  EXPECT_EQ(sent->to, 5u);
  EXPECT_EQ(sent->sent, 100u);
  EXPECT_EQ(sent->expected, 90u);
  const auto come = disputes.compare(5, ours, {0, 210, 100});
  ASSERT_TRUE(come);
  EXPECT_EQ(come->from, 5u);
  EXPECT_EQ(come->to, 4u);
  EXPECT_EQ(come->sent, 210u);
  EXPECT_EQ(come->expected, 200u);
}

TEST(Disputes, TheLastPacketOfABlockIsMarked) {
  EXPECT_TRUE(Disputes::fits(3, 0, false));
  EXPECT_TRUE(Disputes::fits(3, 2, true));
  EXPECT_FALSE(Disputes::fits(3, 2, false)) << "the peer sends more";
  EXPECT_FALSE(Disputes::fits(3, 1, true)) << "the peer sends less";
  EXPECT_FALSE(Disputes::fits(3, 3, true));
}

TEST(Disputes, WhatCameEarlyShowsItToo) {
  blocks::ReceiveWindow early;
  EXPECT_TRUE(Disputes::fits_early(0, early));
  early.add(0);
  early.seen = 1;
  EXPECT_TRUE(Disputes::fits_early(2, early));
  EXPECT_FALSE(Disputes::fits_early(0, early));
  EXPECT_FALSE(Disputes::fits_early(1, early)) << "it was not marked as the last";
  early.total = 1;
  EXPECT_TRUE(Disputes::fits_early(1, early));
  EXPECT_FALSE(Disputes::fits_early(2, early));
}

}  // namespace
}  // namespace alm::transport

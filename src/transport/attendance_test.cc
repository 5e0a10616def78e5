#include "transport/attendance.h"

#include <gtest/gtest.h>

namespace alm::transport {
namespace {

TEST(Attendance, KnowsSinceWhenAPeerIsAhead) {
  wire::ExchangeNumbers numbers;
  Attendance attendance(3);
  EXPECT_FALSE(attendance.ahead(1, numbers));
  attendance.came(100, 1, 0, 0);
  attendance.came(200, 1, 0, 5000);
  attendance.came(300, 1, 0, 0);
  const auto ahead = attendance.ahead(1, numbers);
  ASSERT_TRUE(ahead);
  EXPECT_EQ(ahead->since, 100);
  EXPECT_EQ(ahead->sends, 5000u);
  numbers.enter();
  EXPECT_FALSE(attendance.ahead(1, numbers)) << "this rank has entered it too";
  attendance.came(400, 1, 1, 0);
  EXPECT_EQ(attendance.ahead(1, numbers)->since, 400);
}

TEST(Attendance, WhatPeersSayIsAboutOneExchange) {
  Attendance attendance(3);
  attendance.says_not_entered(70, 2);
  attendance.says_elsewhere(2, {5, 40});
  attendance.says_elsewhere(2, {Attendance::kNoCall, 7});
  EXPECT_EQ(attendance.not_entered_at(2), 70);
  EXPECT_TRUE(attendance.elsewhere(2));
  EXPECT_TRUE(attendance.doing(2));
  attendance.begin();
  EXPECT_EQ(attendance.not_entered_at(2), 0);
  EXPECT_FALSE(attendance.elsewhere(2));
  EXPECT_FALSE(attendance.doing(2));
}

TEST(Attendance, ThePeersLatestCallIsNotForgottenBecauseItHasLeftIt) {
  Attendance attendance(3);
  attendance.says_elsewhere(1, {Attendance::kNoCall, 7});
  EXPECT_EQ(attendance.doing(1), 7u);
  EXPECT_FALSE(attendance.elsewhere(1));
  attendance.says_elsewhere(1, {5, 40});
  EXPECT_FALSE(attendance.doing(1));
  attendance.says_elsewhere(1, {Attendance::kNoCall, 8});
  EXPECT_EQ(attendance.doing(1), 8u);
  EXPECT_EQ(attendance.elsewhere(1), (Attendance::Elsewhere{5, 40}));
  attendance.says_elsewhere(1, {4, 30});
  EXPECT_EQ(attendance.elsewhere(1)->call, 5u) << "overtaken on its way";
}

TEST(Attendance, AnswersWhereThisRankIsOnlyIfItIsElsewhere) {
  Attendance attendance(3);
  attendance.asks(1);
  EXPECT_FALSE(attendance.take_asking());
  attendance.be_elsewhere(Attendance::Elsewhere{});
  for (int i = 0; i < 10; ++i) attendance.asks(1);
  int answers = 0;
  while (attendance.take_asking()) ++answers;
  EXPECT_EQ(answers, 3) << "no more than there are peers";
}

}  // namespace
}  // namespace alm::transport

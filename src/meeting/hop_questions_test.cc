#include "meeting/hop_questions.h"

#include <gtest/gtest.h>

namespace alm::meeting {
namespace {

using io::Address;
using io::HopQuestion;

Address address(std::uint16_t port) { return io::make_address("198.18.0.1", port).value(); }

std::vector<HopQuestion> questions(std::uint16_t count) {
  std::vector<HopQuestion> all;
  for (std::uint16_t i = 0; i < count; ++i) all.push_back({0, address(1000 + i), 2});
  return all;
}

TEST(HopQuestions, FewAreUnderWayAtOnce) {
  const auto asked = questions(40);
  HopQuestions hops(asked, 100);
  hops.begin(0);
  std::size_t under_way = 0;
  while (hops.next(0)) ++under_way;
  EXPECT_EQ(under_way, HopQuestions::kUnderWay);
  hops.answered({0, address(1003), address(0)});
  const auto next = hops.next(10);
  ASSERT_TRUE(next);
  EXPECT_EQ(io::port_of(next->to), 1000 + HopQuestions::kUnderWay);
  EXPECT_EQ(hops.routers()[3], address(0));
  EXPECT_EQ(hops.routers()[4].length, 0U);
}

TEST(HopQuestions, OneWithoutAnAnswerIsAskedAgainAFewTimes) {
  const auto asked = questions(1);
  HopQuestions hops(asked, 100);
  hops.begin(0);
  for (std::uint32_t i = 0; i < HopQuestions::kTries; ++i) {
    EXPECT_TRUE(hops.next(100 * i));
    EXPECT_FALSE(hops.next(100 * i + 99));
    EXPECT_EQ(hops.deadline(), 100 * (i + 1));
  }
  EXPECT_FALSE(hops.next(100 * HopQuestions::kTries));
  EXPECT_TRUE(hops.done(100 * HopQuestions::kTries));
}

TEST(HopQuestions, AnAnswerCountsForItsFiveTupleOnly) {
  const std::vector<HopQuestion> asked = {{0, address(1000), 2}, {1, address(1000), 2}};
  HopQuestions hops(asked, 100);
  hops.begin(0);
  while (hops.next(0)) continue;
  hops.answered({1, address(1000), address(0)});
  hops.answered({1, address(1001), address(0)});
  EXPECT_EQ(hops.routers()[0].length, 0U);
  EXPECT_NE(hops.routers()[1].length, 0U);
  EXPECT_FALSE(hops.done(50));
  hops.answered({0, address(1000), address(0)});
  EXPECT_TRUE(hops.done(50));
}

TEST(HopQuestions, AHostThatRefusesIsAnAnswerWithoutARouter) {
  const auto asked = questions(1);
  HopQuestions hops(asked, 100);
  hops.begin(0);
  EXPECT_TRUE(hops.next(0));
  hops.answered({0, address(1000), Address{}});
  EXPECT_TRUE(hops.done(1));
  EXPECT_EQ(hops.routers()[0].length, 0U);
}

TEST(HopQuestions, WhereNobodyAnswersAllIsOverSoon) {
  const auto asked = questions(1000);
  HopQuestions hops(asked, 100);
  hops.begin(0);
  while (hops.next(0)) continue;
  EXPECT_FALSE(hops.done(100 * HopQuestions::kTries - 1));
  EXPECT_TRUE(hops.done(100 * HopQuestions::kTries));
}

TEST(HopQuestions, TheLastQuestionWithoutAnAnswerIsNotWaitedFor) {
  const auto asked = questions(2);
  HopQuestions hops(asked, 100);
  hops.begin(0);
  while (hops.next(0)) continue;
  hops.answered({0, address(1000), address(0)});
  base::Nanos now = 0;
  for (std::uint32_t i = 0; i < HopQuestions::kTries; ++i) {
    now = hops.deadline();
    while (hops.next(now)) continue;
  }
  EXPECT_EQ(now, 100 * HopQuestions::kTries);
  EXPECT_LE(hops.deadline(), now);
  EXPECT_TRUE(hops.done(now));
}

TEST(HopQuestions, AllIsOverAfterAWhile) {
  const auto asked = questions(1000);
  HopQuestions hops(asked, 100);
  hops.begin(0);
  ASSERT_TRUE(hops.next(0));
  hops.answered({0, address(1000), address(0)});
  EXPECT_FALSE(hops.done(100 * HopQuestions::kPatiences - 1));
  EXPECT_TRUE(hops.done(100 * HopQuestions::kPatiences));
}

}  // namespace
}  // namespace alm::meeting

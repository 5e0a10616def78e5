#include "tuning/budget.h"

#include <gtest/gtest.h>

#include <limits>

namespace alm::tuning {
namespace {

constexpr base::Nanos kBest = 100;
constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

TEST(Budget, CountsAgreementsTheLatestLikeTheOneBefore) {
  Budget budget;
  budget.count_agreement(0);  // nothing is known of the first
  EXPECT_DOUBLE_EQ(budget.spent(2, kBest), 2);
  budget.count_agreement(50);
  EXPECT_DOUBLE_EQ(budget.agreement(kBest), 0.5);
  EXPECT_DOUBLE_EQ(budget.spent(2, kBest), 3);
}

TEST(Budget, IsAPartOfTheTimeOfAllCalls) {
  EXPECT_DOUBLE_EQ(Budget::left(200, 3), 5);
  EXPECT_DOUBLE_EQ(Budget::left(200, 100), 0);
}

TEST(Budget, WhatWaitsHasItsTurnWhenTheCallsMadePayForIt) {
  Budget budget;
  budget.await_turn(3, kNever);
  EXPECT_FALSE(budget.turn_has_come(1'000'000)) << "nothing waits";
  budget.postpone(5);
  budget.await_turn(3, kNever);
  EXPECT_FALSE(budget.turn_has_come(200));
  EXPECT_TRUE(budget.turn_has_come(201));
  budget.await_turn(3, 20);
  EXPECT_TRUE(budget.turn_has_come(20)) << "no later than that";
}

}  // namespace
}  // namespace alm::tuning

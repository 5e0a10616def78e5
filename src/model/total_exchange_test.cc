#include "model/total_exchange.h"

#include <gtest/gtest.h>

#include <vector>

namespace alm::model {
namespace {

constexpr Hockney kLink{60e-6, 8e-8};

TEST(TotalExchange, UniformSizesGiveProposition1) {
  std::vector<std::uint64_t> bytes(16 * 16, 5000);
  const auto bounds = exchange_bounds(bytes, 16, kLink.beta);
  EXPECT_EQ(bounds.startups, 15u);
  EXPECT_TRUE(bounds.same_process);
  EXPECT_NEAR(bounds.seconds(kLink), proposition_1_s(kLink, 16, 5000), 1e-12);
  EXPECT_NEAR(proposition_1_s(kLink, 16, 5000), 15 * (60e-6 + 400e-6), 1e-12);
}

// Rank 0 sends three short messages, rank 1 one long one: no process attains both maxima.
TEST(TotalExchange, MaximaOfTwoProcessesDoNotAddUp) {
  std::vector<std::uint64_t> bytes = {
      0, 10, 10, 10,       //
      0, 0,  0,  100'000,  //
      0, 0,  0,  0,        //
      0, 0,  0,  0,
  };
  const auto bounds = exchange_bounds(bytes, 4, kLink.beta);
  EXPECT_EQ(bounds.startups, 3u);
  EXPECT_NEAR(bounds.transfer_s, 100'010 * kLink.beta, 1e-12);
  EXPECT_FALSE(bounds.same_process);
  EXPECT_NEAR(bounds.seconds(kLink), 100'010 * kLink.beta, 1e-12);
}

TEST(TotalExchange, ReceivingCountsAsSendingDoes) {
  std::vector<std::uint64_t> bytes = {
      0,   0, 0,  //
      500, 0, 0,  //
      500, 0, 0,
  };
  const auto bounds = exchange_bounds(bytes, 3, kLink.beta);
  EXPECT_EQ(bounds.startups, 2u);
  EXPECT_TRUE(bounds.same_process);
  EXPECT_NEAR(bounds.seconds(kLink), 2 * 60e-6 + 1000 * 8e-8, 1e-12);
}

TEST(TotalExchange, WhatARankSendsItselfDoesNotCount) {
  EXPECT_EQ(exchange_bounds(std::vector<std::uint64_t>{9, 0, 0, 9}, 2, 1).startups, 0u);
}

TEST(TotalExchange, TheSlowdownFactorIsTheNumberOfProcesses) {
  EXPECT_NEAR(slowdown_s(kLink, 16, 5000), 60e-6 + 16 * 400e-6, 1e-12);
}

}  // namespace
}  // namespace alm::model

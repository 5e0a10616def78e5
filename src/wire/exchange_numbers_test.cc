#include "wire/exchange_numbers.h"

#include <gtest/gtest.h>

namespace alm::wire {
namespace {

TEST(ExchangeNumbers, NothingIsKnownAtFirst) {
  const ExchangeNumbers numbers;
  EXPECT_FALSE(numbers.running());
  EXPECT_FALSE(numbers.has_tail());
  EXPECT_FALSE(numbers.runs(0));
  EXPECT_EQ(numbers.entered(), 0u);
}

TEST(ExchangeNumbers, TheRunningExchangeBecomesTheTail) {
  ExchangeNumbers numbers;
  numbers.enter();
  EXPECT_TRUE(numbers.runs(0));
  EXPECT_FALSE(numbers.has_tail());
  numbers.leave();
  EXPECT_FALSE(numbers.runs(0));
  EXPECT_TRUE(numbers.is_tail(0));
  EXPECT_EQ(numbers.current(), 0u);
  EXPECT_EQ(numbers.done_below(), 1u);
  numbers.enter();
  EXPECT_TRUE(numbers.runs(1));
  EXPECT_TRUE(numbers.is_tail(0));
  EXPECT_EQ(numbers.done_below(), 1u);
  EXPECT_EQ(numbers.entered(), 2u);
}

TEST(ExchangeNumbers, LowBitsStandForTheNearestNumber) {
  ExchangeNumbers numbers;
  EXPECT_EQ(numbers.expand(65535), 65535u) << "nothing lies before 0";
  for (int i = 0; i < 70000; ++i) numbers.enter();
  for (const std::uint64_t exchange : {69999, 70000, 65535, 65536, 40000, 100000}) {
    EXPECT_EQ(numbers.expand(static_cast<std::uint16_t>(exchange)), exchange);
  }
}

}  // namespace
}  // namespace alm::wire

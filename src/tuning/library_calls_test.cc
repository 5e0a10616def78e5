#include "tuning/library_calls.h"

#include <gtest/gtest.h>

#include "tuning/trial_rules.h"

namespace alm::tuning {
namespace {

constexpr base::Nanos kMs = base::kMillisecond;

base::Nanos may_stall(std::uint64_t) { return 300 * kMs; }

// After the first call, which counts for nothing, so many.
LibraryCalls made(std::uint64_t bytes, base::Nanos time, int count = TrialRules::kWaitedCalls) {
  LibraryCalls calls;
  calls.took(bytes, 90 * kMs);
  for (int i = 0; i < count; ++i) calls.took(bytes, time);
  return calls;
}

LibraryCalls agreed(const LibraryCalls& calls) {
  LibraryCalls all;
  all.agree(calls.words());
  return all;
}

TEST(LibraryCalls, TellWhatHasNotWaited) {
  EXPECT_EQ(agreed(made(1000, 5 * kMs)).held(may_stall), 1000u);
}

TEST(LibraryCalls, AFewTellNothing) {
  EXPECT_TRUE(made(1000, 5 * kMs, 0).none()) << "the first opens connections";
  const LibraryCalls calls = agreed(made(1000, 5 * kMs, TrialRules::kWaitedCalls - 1));
  EXPECT_EQ(calls.held(may_stall), 0u);
}

TEST(LibraryCalls, OneThatWaitedForTimeOutsSpoilsItsSize) {
  LibraryCalls calls = made(1000, 5 * kMs);
  calls.took(1000, 205 * kMs);
  for (std::uint64_t i = 0; i < TrialRules::kWaitedCalls; ++i) calls.took(200, 4 * kMs);
  const LibraryCalls all = agreed(calls);
  EXPECT_EQ(all.held(may_stall), 200u);
}

TEST(LibraryCalls, WhereAllWaitNoneIsCalm) {
  const LibraryCalls calls = agreed(made(1000, 205 * kMs));
  EXPECT_EQ(calls.held(may_stall), 0u);
}

TEST(LibraryCalls, LargerBlocksDoNotVouchForSmallerOnesThatWaited) {
  LibraryCalls calls = made(200, 205 * kMs);
  for (std::uint64_t i = 0; i < TrialRules::kWaitedCalls; ++i) calls.took(9000, 5 * kMs);
  EXPECT_EQ(agreed(calls).held(may_stall), 0u);
}

TEST(LibraryCalls, OneOfAFewThatWaitedCountsAsWell) {
  LibraryCalls calls = made(9000, 5 * kMs);
  calls.took(200, 205 * kMs);
  EXPECT_EQ(agreed(calls).held(may_stall), 0u);
}

TEST(LibraryCalls, ThoseThatCannotWaitSayNothingOfLargerOnes) {
  const LibraryCalls calls = agreed(made(200, 5 * kMs));
  EXPECT_EQ(calls.held([](std::uint64_t) { return base::Nanos{0}; }), 0u);
}

TEST(LibraryCalls, TheSlowestRankCounts) {
  LibraryCalls::Words words = made(1000, 5 * kMs).words();
  const LibraryCalls::Words others = made(1000, 205 * kMs).words();
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = std::max(words[i], others[i]);
  LibraryCalls all;
  all.agree(words);
  EXPECT_EQ(all.held(may_stall), 0u);
}

TEST(LibraryCalls, SizesBeyondAllClassesAreLeftOut) {
  EXPECT_EQ(agreed(made(std::uint64_t{1} << 40, 5 * kMs)).held(may_stall), 0u);
}

}  // namespace
}  // namespace alm::tuning

#include "tally/tally.h"

#include <gtest/gtest.h>

#include <string>

namespace alm::tally {
namespace {

TEST(Tally, CountsNothingBeforeItBegins) {
  Tally tally;
  EXPECT_FALSE(tally.counts());
  tally.begin(0);
  EXPECT_TRUE(tally.counts());
  EXPECT_EQ(tally.size(), 0u);
}

TEST(Tally, CallsOfOneFunctionSizeClassAndWayShareALine) {
  Tally tally;
  tally.begin(0);
  const WayId rounds = tally.way("rounds");
  tally.note(Function::kAlltoall, 512, {rounds, 400}, 1000);
  tally.note(Function::kAlltoall, 1023, {rounds, 0}, 3000);
  tally.note(Function::kAlltoall, 1024, {rounds, 0}, 1);
  tally.note(Function::kAlltoallv, 512, {rounds, 0}, 1);
  tally.note(Function::kAlltoall, 512, {kNoWay, 0}, 1);
  ASSERT_EQ(tally.size(), 4u);
  const Line& line = tally.line(0);
  EXPECT_EQ(line.least_bytes(), 512u);
  EXPECT_EQ(line.most_bytes(), 1023u);
  EXPECT_EQ(line.calls, 2u);
  EXPECT_EQ(line.time, 4000);
  EXPECT_EQ(line.bound, 400);
  EXPECT_EQ(line.time_of_bound, 1000);
  EXPECT_EQ(tally.text_of(line.way), "rounds");
}

TEST(Tally, CallsWithoutATimeAreCounted) {
  Tally tally;
  tally.begin(0);
  tally.note(Function::kIalltoall, 8, {}, -1);
  EXPECT_EQ(tally.line(0).calls, 1u);
  EXPECT_EQ(tally.line(0).times.total(), 0u);
}

TEST(Tally, TheSameTextIsTheSameWay) {
  Tally tally;
  tally.begin(0);
  EXPECT_EQ(tally.way("a"), tally.way("a"));
  EXPECT_NE(tally.way("a"), tally.way("b"));
}

TEST(Tally, ItsMemoryIsBoundedWhateverIsCalled) {
  Tally tally;
  tally.begin(0);
  std::uint64_t calls = 0;
  for (int way = 0; way < 1000; ++way) {
    const WayId id = tally.way("way " + std::to_string(way));
    EXPECT_LT(id, Tally::kWays);
    for (int width = 0; width < 40; ++width, ++calls) {
      tally.note(Function::kAlltoallw, std::uint64_t{1} << width, {id, 0}, 5);
    }
  }
  EXPECT_EQ(tally.size(), Tally::kLines);
  std::uint64_t counted = 0;
  for (std::size_t i = 0; i < tally.size(); ++i) counted += tally.line(i).calls;
  EXPECT_EQ(counted, calls);
}

TEST(Tally, FunctionsAreKnownByTheirNames) {
  for (int i = 0; i < 6; ++i) {
    const auto function = static_cast<Function>(i);
    EXPECT_EQ(function_of(name_of(function)), function);
  }
}

}  // namespace
}  // namespace alm::tally

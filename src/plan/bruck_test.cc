#include "plan/bruck.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace alm::plan {
namespace {

using testing::ElementsAre;
using Radices = std::vector<std::uint32_t>;

// Every distance is the sum of the shifts its block takes, and no phase moves a block twice.
void check(const Bruck& bruck) {
  std::vector<std::uint32_t> gone(bruck.ranks);
  for (const auto& phase : bruck.phases) {
    ASSERT_EQ(phase.begin.size(), phase.shift.size() + 1);
    std::set<std::uint32_t> shifts, blocks;
    for (std::size_t i = 0; i < phase.shift.size(); ++i) {
      ASSERT_GT(phase.shift[i], 0u);
      ASSERT_LT(phase.shift[i], bruck.ranks);
      ASSERT_TRUE(shifts.insert(phase.shift[i]).second);
      ASSERT_LT(phase.begin[i], phase.begin[i + 1]);
      for (std::uint32_t b = phase.begin[i]; b < phase.begin[i + 1]; ++b) {
        ASSERT_TRUE(blocks.insert(phase.block[b]).second);
        gone[phase.block[b]] = (gone[phase.block[b]] + phase.shift[i]) % bruck.ranks;
      }
    }
  }
  for (std::uint32_t distance = 0; distance < bruck.ranks; ++distance) {
    ASSERT_EQ(gone[distance], distance);
  }
}

void check_both_ways(const Bruck& bruck) {
  for (const auto& phase : bruck.phases) {
    const std::set<std::uint32_t> shifts(phase.shift.begin(), phase.shift.end());
    for (const std::uint32_t shift : shifts) {
      ASSERT_TRUE(shifts.contains(bruck.ranks - shift)) << shift << " of " << bruck.ranks;
    }
  }
}

std::uint64_t messages(const Bruck& bruck) {
  std::uint64_t sum = 0;
  for (const auto& phase : bruck.phases) sum += phase.shift.size();
  return sum;
}

TEST(Bruck, EveryBlockArrivesForEveryRadix) {
  for (std::uint32_t ranks = 1; ranks <= 70; ++ranks) {
    for (std::uint32_t radix = 2; radix <= std::max(ranks, 2u); ++radix) {
      const Bruck bruck = make_uniform_bruck(ranks, radix);
      check(bruck);
      std::size_t phases = 0;
      for (std::uint64_t covered = 1; covered < ranks; covered *= radix) ++phases;
      ASSERT_EQ(bruck.phases.size(), phases) << ranks << " ranks, radix " << radix;
    }
  }
}

TEST(Bruck, EveryBlockArrivesBothWays) {
  for (std::uint32_t ranks = 1; ranks <= 70; ++ranks) {
    for (std::uint32_t first = 3; first <= ranks; first += 2) {
      for (std::uint32_t second = 3; second <= ranks; second += 4) {
        const Bruck bruck = make_bruck(ranks, Radices{first, second}, true);
        check(bruck);
        check_both_ways(bruck);
      }
    }
  }
}

TEST(Bruck, TwoIsTheClassicalOne) {
  const Bruck bruck = make_uniform_bruck(5, 2);
  ASSERT_EQ(bruck.phases.size(), 3u);
  EXPECT_THAT(bruck.phases[0].shift, ElementsAre(1));
  EXPECT_THAT(bruck.phases[0].block, ElementsAre(1, 3));
  EXPECT_THAT(bruck.phases[1].shift, ElementsAre(2));
  EXPECT_THAT(bruck.phases[1].block, ElementsAre(2, 3));
  EXPECT_THAT(bruck.phases[2].shift, ElementsAre(4));
  EXPECT_THAT(bruck.phases[2].block, ElementsAre(4));
}

TEST(Bruck, ThoseOfferedHaveFewMessages) {
  for (const std::uint32_t ranks : {7u, 13u, 14u, 26u, 31u, 62u, 257u, 1021u}) {
    const auto brucks = make_brucks(ranks);
    ASSERT_FALSE(brucks.empty()) << ranks;
    std::size_t phases = 2;
    for (const Bruck& bruck : brucks) {
      EXPECT_EQ(bruck.phases.size(), phases++);
      check(bruck);
      check_both_ways(bruck);
    }
  }
  EXPECT_EQ(messages(make_brucks(31)[0]), 10u);  // 5 x 7
  EXPECT_EQ(messages(make_brucks(31)[1]), 8u);   // 3 x 3 x 5
  EXPECT_EQ(messages(make_brucks(13)[0]), 6u);   // 3 x 5
  EXPECT_EQ(messages(make_brucks(7)[0]), 4u);
  EXPECT_LE(messages(make_brucks(1021)[0]), 64u);
}

TEST(Bruck, TooFewRanksForPhases) {
  for (const std::uint32_t ranks : {1u, 2u, 3u, 4u}) EXPECT_TRUE(make_brucks(ranks).empty());
}

}  // namespace
}  // namespace alm::plan

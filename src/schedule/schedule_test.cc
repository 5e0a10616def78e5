// Properties every schedule has, for p = 2..257: every pair exactly once, nobody sends or receives
// twice in a step, pairing symmetric where claimed.
#include "schedule/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>
#include <random>
#include <set>
#include <string>

#include "schedule/interleave.h"
#include "schedule/schedule_test_checks.h"

namespace alm::schedule {
namespace {

constexpr std::uint32_t kRanksMax = 257;

TEST(Schedule, ShiftIsValid) {
  for (std::uint32_t p = 2; p <= kRanksMax; ++p) {
    const SchedulePtr shift = make_shift(p);
    EXPECT_EQ(shift->steps(), p - 1);
    ASSERT_EQ(check_valid(*shift), "") << "p = " << p;
  }
}

TEST(Schedule, StridedShiftIsValid) {
  for (std::uint32_t p = 2; p <= kRanksMax; ++p) {
    const SchedulePtr strided = make_strided_shift(p);
    EXPECT_EQ(strided->steps(), p - 1);
    ASSERT_EQ(check_valid(*strided), "") << "p = " << p;
  }
}

// The most packets that one of `leaves` sends to others in so many steps in a row. In blocks: leaf
// by leaf; else ranks are dealt to leaves in turn.
std::uint32_t worst_load(const Schedule& schedule, std::uint32_t leaves, std::uint32_t steps,
                         bool in_blocks) {
  const std::uint32_t hosts = schedule.ranks() / leaves;
  const auto leaf = [&](std::uint32_t rank) { return in_blocks ? rank / hosts : rank % leaves; };
  std::uint32_t worst = 0;
  for (std::uint32_t first = 0; first + steps <= schedule.steps(); ++first) {
    std::vector<std::uint32_t> out(leaves);
    for (std::uint32_t step = first; step < first + steps; ++step) {
      for (std::uint32_t rank = 0; rank < schedule.ranks(); ++rank) {
        if (leaf(rank) != leaf(schedule.send_to({rank}, step).value)) ++out[leaf(rank)];
      }
    }
    worst = std::max(worst, *std::max_element(out.begin(), out.end()));
  }
  return worst;
}

// Nobody has said where the leaves are. Over as many steps as there are leaves the plain shift has
// all hosts of a leaf cross in each.
TEST(Schedule, StridedShiftLoadsUplinksEvenlyWhateverTheLeavesAre) {
  for (const std::uint32_t hosts : {4u, 8u, 16u}) {
    for (std::uint32_t leaves = 2; leaves * hosts <= 128; ++leaves) {
      const std::uint32_t p = leaves * hosts;
      const SchedulePtr strided = make_strided_shift(p);
      const double even = 1.0 * leaves * hosts * (p - hosts) / (p - 1);
      EXPECT_LE(worst_load(*strided, leaves, leaves, true), 1.2 * even) << leaves << "x" << hosts;
      EXPECT_LE(worst_load(*strided, leaves, leaves, false), even + 1) << leaves << "x" << hosts;
      if (3 * leaves > p) continue;
      EXPECT_LE(worst_load(*strided, leaves, 2 * leaves, true), 1.2 * 2 * even)
          << leaves << "x" << hosts;
    }
  }
}

TEST(Schedule, XorIsValid) {
  for (std::uint32_t p = 2; p <= kRanksMax; ++p) {
    const SchedulePtr exchange = make_xor(p);
    EXPECT_EQ(exchange->steps(), std::bit_ceil(p) - 1);
    ASSERT_EQ(check_valid(*exchange), "") << "p = " << p;
  }
}

TEST(Schedule, EdgeColouringIsValid) {
  for (std::uint32_t p = 2; p <= kRanksMax; ++p) {
    const SchedulePtr colouring = make_edge_colouring(p);
    EXPECT_EQ(colouring->steps(), p % 2 == 0 ? p - 1 : p);
    ASSERT_EQ(check_valid(*colouring), "") << "p = " << p;
    // One idle rank per step for odd p, none for even p.
    for (std::uint32_t step = 0; step < colouring->steps(); ++step) {
      ASSERT_EQ(idle_ranks(*colouring, step), p % 2) << "p = " << p;
    }
  }
}

// 000 Figure 2: six hosts, five steps of three matches in which everybody meets everybody.
TEST(Schedule, EdgeColouringOfSixHostsIsTheTournamentOfFigure2) {
  const SchedulePtr colouring = make_edge_colouring(6);
  const std::vector<std::vector<std::uint32_t>> golden = {
      {5, 4, 3, 2, 1, 0}, {1, 0, 4, 5, 2, 3}, {2, 5, 0, 4, 3, 1},
      {3, 2, 1, 0, 5, 4}, {4, 3, 5, 1, 0, 2},
  };
  ASSERT_EQ(colouring->steps(), golden.size());
  std::set<std::pair<std::uint32_t, std::uint32_t>> matches;
  for (std::uint32_t step = 0; step < golden.size(); ++step) {
    for (std::uint32_t rank = 0; rank < 6; ++rank) {
      EXPECT_EQ(colouring->send_to({rank}, step).value, golden[step][rank]);
      matches.insert(std::minmax(rank, golden[step][rank]));
    }
  }
  EXPECT_EQ(matches.size(), 15u);
}

TEST(Schedule, OneRankHasNoSteps) {
  EXPECT_EQ(make_shift(1)->steps(), 0u);
  EXPECT_EQ(make_xor(1)->steps(), 0u);
  EXPECT_EQ(make_edge_colouring(1)->steps(), 0u);
  EXPECT_EQ(make_balanced(Grouping::one_switch(1))->steps(), 0u);
}

TEST(Remap, TwoLevelsOfEqualGroupsGiveEquation5) {
  for (const auto& [d1, d2] : {std::pair{8u, 4u}, {8u, 3u}, {6u, 4u}, {4u, 4u}, {1u, 7u}}) {
    const std::vector<base::Rank> row =
        interleaved(grouping_of_leaves(std::vector<std::uint32_t>(d2, d1)));
    for (std::uint32_t r = 0; r < d1 * d2; ++r) {
      EXPECT_EQ(row[r / d1 + r % d1 * d2].value, r) << d1 << "x" << d2;
    }
  }
}

// Equal leaves: at most d1 packets on an uplink in a step, (d2-1) d1 in d2 consecutive steps.
TEST(Remap, KeepsTheWindowBoundOfEquation5) {
  for (std::uint32_t d2 = 2; d2 <= 128; ++d2) {
    for (std::uint32_t d1 = 1; d1 * d2 <= kRanksMax; ++d1) {
      const Grouping grouping = grouping_of_leaves(std::vector<std::uint32_t>(d2, d1));
      const auto check = [&](SchedulePtr inner, std::uint32_t extra) {
        const SchedulePtr remapped = make_remapped(std::move(inner), grouping);
        ASSERT_LE(worst_load(*remapped, grouping, 0, 1), d1) << d1 << "x" << d2;
        ASSERT_LE(worst_load(*remapped, grouping, 0, d2), (d2 - 1) * d1 + extra) << d1 << "x" << d2;
      };
      check(make_shift(d1 * d2), 0);
      if (std::has_single_bit(d2)) check(make_xor(d1 * d2), 0);
      // Colours in ascending order: the circle's wrap and its middle host cost one packet each.
      check(make_edge_colouring(d1 * d2), 2);
    }
  }
}

// Where the leaves are no power of two, the low bits of a logical id do not name the leaf: 20, not
// the 16 of shift.
TEST(Remap, DoesNotKeepTheBoundForXorBelowThreeLeaves) {
  const Grouping grouping = grouping_of_leaves(std::vector<std::uint32_t>(3, 8));
  EXPECT_EQ(worst_load(*make_remapped(make_shift(24), grouping), grouping, 0, 3), 16u);
  EXPECT_EQ(worst_load(*make_remapped(make_xor(24), grouping), grouping, 0, 3), 20u);
}

// Any groups, any depth: a relabelling of a valid schedule, and with shift at most
// n (w - floor(w n / p) + 1) packets on the uplink of a leaf of n in w consecutive steps.
TEST(Remap, UnequalGroupsKeepWhatTheFairRowGives) {
  std::mt19937 random(3);
  const auto draw = [&](std::uint32_t most) { return static_cast<std::uint32_t>(random()) % most; };
  for (std::uint32_t p = 2; p <= kRanksMax; ++p) {
    std::vector<std::vector<std::uint32_t>> leaf_of(2, std::vector<std::uint32_t>(p));
    const std::uint32_t tops = 1 + draw(4), leaves = tops * (1 + draw(8));
    for (std::uint32_t rank = 0; rank < p; ++rank) {
      leaf_of[0][rank] = std::min(draw(leaves), draw(leaves));
      leaf_of[1][rank] = leaf_of[0][rank] % tops;
    }
    const Grouping nested = Grouping::make(p, leaf_of).value();
    ASSERT_EQ(check_valid(*make_remapped(make_xor(p), nested)), "") << "p = " << p;
    ASSERT_EQ(check_valid(*make_remapped(make_edge_colouring(p), nested)), "") << "p = " << p;
    const SchedulePtr deep = make_remapped(make_shift(p), nested);
    ASSERT_EQ(check_valid(*deep), "") << "p = " << p;
    leaf_of.resize(1);
    const Grouping flat = Grouping::make(p, leaf_of).value();
    if (flat.levels() == 0) continue;
    const SchedulePtr shift = make_remapped(make_shift(p), flat);
    ASSERT_EQ(check_valid(*shift), "") << "p = " << p;
    for (const std::uint32_t window : {1u, 4u, 16u}) {
      if (window >= p) continue;
      const std::vector<std::uint32_t> worst = worst_loads(*shift, flat, 0, window);
      for (std::size_t leaf = 0; leaf < worst.size(); ++leaf) {
        const std::uint32_t n = flat.begins(0)[leaf + 1] - flat.begins(0)[leaf];
        const std::uint32_t inside = window * n / p;
        ASSERT_LE(worst[leaf], n * (window - (inside > 0 ? inside - 1 : 0)))
            << "p " << p << " leaf of " << n << " window " << window;
      }
    }
  }
}

// What the remap is for: without it the hosts of a leaf all cross in all of these steps.
TEST(Remap, ImprovesOnPlainShiftAndXor) {
  const Grouping grouping = grouping_of_leaves(std::vector<std::uint32_t>(4, 8));
  EXPECT_EQ(worst_load(*make_shift(32), grouping, 0, 4), 32u);
  EXPECT_EQ(worst_load(*make_xor(32), grouping, 0, 4), 32u);
  EXPECT_EQ(worst_load(*make_remapped(make_shift(32), grouping), grouping, 0, 4), 24u);
  EXPECT_EQ(worst_load(*make_remapped(make_xor(32), grouping), grouping, 0, 4), 24u);
  EXPECT_EQ(worst_load(*make_edge_colouring(32), grouping, 0, 4), 32u);
  EXPECT_EQ(worst_load(*make_remapped(make_edge_colouring(32), grouping), grouping, 0, 4), 26u);
}

TEST(FairSequence, StaysWithinOnePlaceOfTheIdeal) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::uint32_t> shares(1 + random() % 12);
    for (std::uint32_t& share : shares) share = 1 + static_cast<std::uint32_t>(random()) % 40;
    const std::uint32_t total = std::accumulate(shares.begin(), shares.end(), 0u);
    const std::vector<std::uint32_t> row = fair_sequence(shares);
    ASSERT_EQ(row.size(), total);
    std::vector<std::uint32_t> taken(shares.size(), 0);
    for (std::uint32_t k = 1; k <= total; ++k) {
      ++taken[row[k - 1]];
      for (std::size_t item = 0; item < shares.size(); ++item) {
        const double ideal = double(k) * shares[item] / total;
        ASSERT_LT(std::abs(taken[item] - ideal), 1.0) << "round " << round << " place " << k;
      }
    }
  }
}

TEST(Grouping, RefusesGroupsThatAreNotNested) {
  const std::vector<std::vector<std::uint32_t>> crossed = {{0, 0, 1, 1}, {0, 1, 0, 1}};
  const auto grouping = Grouping::make(4, crossed);
  ASSERT_FALSE(grouping.ok());
  EXPECT_NE(grouping.error().message.find("expected nested groups"), std::string::npos);
}

TEST(Grouping, RefusesTheWrongLength) {
  const std::vector<std::vector<std::uint32_t>> two = {{0, 1}};
  EXPECT_FALSE(Grouping::make(3, two).ok());
}

TEST(Grouping, DropsLevelsThatSayNothing) {
  const std::vector<std::vector<std::uint32_t>> chain = {{5, 2, 5, 2}, {1, 0, 1, 0}, {0, 0, 0, 0}};
  const auto grouping = Grouping::make(4, chain);
  ASSERT_TRUE(grouping.ok());
  ASSERT_EQ(grouping.value().levels(), 1u);
  EXPECT_TRUE(grouping.value().equal_leaves());
  const std::vector<base::Rank> order = {{1}, {3}, {0}, {2}};
  EXPECT_TRUE(std::equal(order.begin(), order.end(), grouping.value().order().begin()));
}

}  // namespace
}  // namespace alm::schedule

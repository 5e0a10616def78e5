// The balanced schedules: no step loads an uplink, either way, above ceil(nu) for equal groups and
// ceil(nu) + 1 for unequal ones, where nu = n(p-n)/(p-1) (000 Eq 3).
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "schedule/schedule.h"
#include "schedule/schedule_test_checks.h"

namespace alm::schedule {
namespace {

std::uint32_t draw(std::mt19937& random, std::uint32_t least, std::uint32_t most) {
  return least + static_cast<std::uint32_t>(random()) % (most - least + 1);
}

std::uint32_t nu_up(std::uint32_t n, std::uint32_t p) { return (n * (p - n) + p - 2) / (p - 1); }
std::uint32_t nu_down(std::uint32_t n, std::uint32_t p) { return n * (p - n) / (p - 1); }

std::uint32_t group_size(const Grouping& grouping, std::size_t level, std::size_t group) {
  return grouping.begins(level)[group + 1] - grouping.begins(level)[group];
}

// Every step, every group of a level, both directions: at most ceil(nu) + extra.
void expect_bound(const Schedule& schedule, const Grouping& grouping, std::size_t level,
                  std::uint32_t extra) {
  const std::uint32_t p = grouping.ranks();
  for (std::uint32_t step = 0; step < schedule.steps(); ++step) {
    const Load load = uplink_load(schedule, grouping, level, step);
    for (std::size_t g = 0; g < load.out.size(); ++g) {
      const std::uint32_t most = nu_up(group_size(grouping, level, g), p) + extra;
      ASSERT_LE(load.out[g], most) << "p " << p << " level " << level << " step " << step;
      ASSERT_LE(load.in[g], most) << "p " << p << " level " << level << " step " << step;
    }
  }
}

Grouping equal_leaves(std::uint32_t leaves, std::uint32_t hosts) {
  return grouping_of_leaves(std::vector<std::uint32_t>(leaves, hosts));
}

TEST(BalancedEqual, EveryShapeUpTo257RanksIsWithinTheBound) {
  for (std::uint32_t leaves = 2; leaves <= 128; ++leaves) {
    for (std::uint32_t hosts = 1; leaves * hosts <= 257; ++hosts) {
      SCOPED_TRACE(testing::Message() << hosts << "x" << leaves);
      const Grouping grouping = equal_leaves(leaves, hosts);
      const SchedulePtr schedule = make_balanced_equal(grouping);
      const std::uint32_t p = leaves * hosts;
      ASSERT_EQ(schedule->steps(), p - 1);
      ASSERT_EQ(check_valid(*schedule), "");
      expect_bound(*schedule, grouping, 0, 0);
      for (std::uint32_t step = 0; step < schedule->steps(); ++step) {
        for (const std::uint32_t out : uplink_load(*schedule, grouping, 0, step).out) {
          ASSERT_GE(out, nu_down(hosts, p)) << "step " << step;
        }
      }
    }
  }
}

// Not only are uplinks even: in every step a leaf sends evenly to all the leaves.
TEST(BalancedEqual, ALeafSendsEvenlyToAllLeaves) {
  for (std::uint32_t leaves = 2; leaves <= 12; ++leaves) {
    for (std::uint32_t hosts = 1; hosts <= 16; ++hosts) {
      const SchedulePtr schedule = make_balanced_equal(equal_leaves(leaves, hosts));
      const std::uint32_t fewest = (hosts - 1) / leaves;
      for (std::uint32_t step = 0; step < schedule->steps(); ++step) {
        std::vector<std::uint32_t> sent(leaves, 0);
        for (std::uint32_t host = 0; host < hosts; ++host) {
          ++sent[schedule->send_to({host}, step).value / hosts];
        }
        for (const std::uint32_t packets : sent) {
          ASSERT_GE(packets, fewest) << hosts << "x" << leaves << " step " << step;
          ASSERT_LE(packets, fewest + 2) << hosts << "x" << leaves << " step " << step;
        }
      }
    }
  }
}

TEST(BalancedStaggered, EveryEqualShapeUpTo257RanksIsWithinTheBound) {
  for (std::uint32_t leaves = 2; leaves <= 128; ++leaves) {
    for (std::uint32_t hosts = 1; leaves * hosts <= 257; ++hosts) {
      SCOPED_TRACE(testing::Message() << hosts << "x" << leaves);
      const Grouping grouping = equal_leaves(leaves, hosts);
      const SchedulePtr schedule = make_balanced_staggered(grouping);
      ASSERT_EQ(check_valid(*schedule), "");
      expect_bound(*schedule, grouping, 0, 0);
      // Eq 5's bound, with equality.
      ASSERT_EQ(worst_load(*schedule, grouping, 0, leaves), (leaves - 1) * hosts);
    }
  }
}

TEST(BalancedStaggered, UnequalLeavesAreWithinTheBound) {
  std::mt19937 random(11);
  for (std::uint32_t p = 3; p <= 257; ++p) {
    for (int round = 0; round < 3; ++round) {
      std::vector<std::uint32_t> sizes;
      for (std::uint32_t left = p; left > 0;) {
        const std::uint32_t most = round == 0 ? left : std::max(1u, p / draw(random, 2, 10));
        sizes.push_back(draw(random, 1, std::min(left, most)));
        left -= sizes.back();
      }
      const Grouping grouping = grouping_of_leaves(sizes);
      if (grouping.levels() == 0) continue;
      SCOPED_TRACE(testing::Message() << "leaves " << testing::PrintToString(sizes));
      const SchedulePtr schedule = make_balanced_staggered(grouping);
      ASSERT_EQ(check_valid(*schedule), "");
      expect_bound(*schedule, grouping, 0, 1);
    }
  }
}

// Every way to split up to 18 ranks over leaves, exhaustively.
void each_partition(std::uint32_t left, std::uint32_t most, std::vector<std::uint32_t>& sizes,
                    const auto& visit) {
  if (left == 0) return visit(sizes);
  for (std::uint32_t size = std::min(left, most); size > 0; --size) {
    sizes.push_back(size);
    each_partition(left - size, size, sizes, visit);
    sizes.pop_back();
  }
}

TEST(BalancedStaggered, EveryPartitionOfUpTo18Ranks) {
  for (std::uint32_t p = 2; p <= 18; ++p) {
    std::vector<std::uint32_t> sizes;
    each_partition(p, p - 1, sizes, [&](const std::vector<std::uint32_t>& leaves) {
      SCOPED_TRACE(testing::Message() << "leaves " << testing::PrintToString(leaves));
      const Grouping grouping = grouping_of_leaves(leaves);
      const SchedulePtr schedule = make_balanced(grouping);
      ASSERT_EQ(check_valid(*schedule), "");
      expect_bound(*schedule, grouping, 0, grouping.equal_leaves() ? 0 : 1);
    });
  }
}

// Ranks 0..p-1 below `top` switches of `middle` leaves of `hosts` each, dealt out in random order.
Grouping three_levels(std::uint32_t top, std::uint32_t middle, std::uint32_t hosts,
                      std::mt19937& random) {
  std::vector<std::uint32_t> place(top * middle * hosts);
  std::iota(place.begin(), place.end(), 0);
  std::shuffle(place.begin(), place.end(), random);
  std::vector<std::vector<std::uint32_t>> leaf_of(2);
  for (const std::uint32_t at : place) {
    leaf_of[0].push_back(at / hosts);
    leaf_of[1].push_back(at / (hosts * middle));
  }
  return Grouping::make(static_cast<std::uint32_t>(place.size()), leaf_of).value();
}

TEST(BalancedStaggered, EqualTreesAreWithinTheBoundAtEveryLevel) {
  std::mt19937 random(5);
  for (const auto& [top, middle, hosts] : {std::tuple{2u, 2u, 8u},
                                           {4u, 4u, 8u},
                                           {2u, 8u, 12u},
                                           {3u, 5u, 7u},
                                           {5u, 3u, 16u},
                                           {8u, 2u, 3u}}) {
    const Grouping grouping = three_levels(top, middle, hosts, random);
    const SchedulePtr schedule = make_balanced(grouping);
    ASSERT_EQ(check_valid(*schedule), "");
    expect_bound(*schedule, grouping, 0, 0);
    expect_bound(*schedule, grouping, 1, 0);
  }
}

TEST(Balanced, OneSwitchAndScatteredRanks) {
  EXPECT_EQ(check_valid(*make_balanced(Grouping::one_switch(16))), "");
  const std::vector<std::vector<std::uint32_t>> round_robin = {{3, 1, 3, 1, 3, 1, 7, 7, 7}};
  const Grouping grouping = Grouping::make(9, round_robin).value();
  ASSERT_TRUE(grouping.equal_leaves());
  const SchedulePtr schedule = make_balanced(grouping);
  EXPECT_EQ(check_valid(*schedule), "");
  expect_bound(*schedule, grouping, 0, 0);
}

}  // namespace
}  // namespace alm::schedule

#include "execute/course.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace alm::execute {
namespace {

using plan::Algorithm;
using testing::ElementsAre;

Course course_of(std::uint32_t ranks, Algorithm algorithm,
                 const std::vector<std::uint32_t>& shape = {}) {
  return Course(
      plan::make_plan({.ranks = ranks, .self = {0}, .algorithm = algorithm, .shape = shape})
          .value());
}

TEST(Course, OfADirectPlanIsOnePhaseOfEqualMessages) {
  Course course = course_of(4, Algorithm::kSyncShuffle);
  course.begin({.each = 100});
  EXPECT_EQ(course.next_start(), 0u);
  EXPECT_EQ(course.next_start(), std::nullopt);
  EXPECT_EQ(course.uniform_bytes(0), 100u);
  EXPECT_FALSE(course.feeds_later_phases(0));
  EXPECT_TRUE(course.withheld(0).empty());
  course.completed(0);
  EXPECT_TRUE(course.done());
}

TEST(Course, LaterPhasesBeginWhenTheirFirstMessageCanLeave) {
  Course course = course_of(6, Algorithm::kGrid, {3, 2});
  course.begin({.each = 10});
  EXPECT_EQ(course.next_start(), 0u);
  EXPECT_EQ(course.next_start(), std::nullopt) << "its only message needs both of the first phase";
  EXPECT_EQ(course.uniform_bytes(0), 20u);
  EXPECT_TRUE(course.feeds_later_phases(0));
  std::vector<Course::Ready> ready;
  course.arrived(0, 1, ready);
  EXPECT_EQ(course.next_start(), std::nullopt);
  course.arrived(0, 2, ready);
  EXPECT_EQ(course.next_start(), 1u) << "though the first phase is not complete";
  EXPECT_TRUE(ready.empty()) << "nothing was withheld in a phase that had begun";
  EXPECT_EQ(course.uniform_bytes(1), 30u);
  course.completed(0);
  course.completed(1);
  EXPECT_TRUE(course.done());
}

// Rank 0 forwards what rank 1 sends it to rank 2, and has something of its own for rank 3.
plan::Plan forwarding() {
  plan::Plan made;
  made.ranks = 4;
  made.self = {0};
  plan::Phase first;
  first.rounds.recv = {1};
  first.rounds.send_begin = {0, 0};
  first.rounds.recv_begin = {0, 1};
  first.in = {{{1}, {2}}};
  first.out_begin = {0};
  first.in_begin = {0, 1};
  plan::Phase second;
  second.rounds.send = {2, 3};
  second.rounds.send_begin = {0, 2};
  second.rounds.recv_begin = {0, 0};
  second.out = {{{1}, {2}}, {{0}, {3}}};
  second.out_begin = {0, 1, 2};
  second.in_begin = {0};
  made.phases = {first, second};
  return made;
}

TEST(Course, MessagesWhoseBlocksHaveNotComeAreWithheld) {
  Course course(forwarding());
  course.begin({.each = 8});
  EXPECT_EQ(course.next_start(), 0u);
  EXPECT_EQ(course.next_start(), 1u) << "the message to rank 3 can leave";
  EXPECT_THAT(course.withheld(1), ElementsAre(0, 0, 1, 0));
  EXPECT_EQ(course.source(1, 0).phase, 0u);
  EXPECT_EQ(course.source(1, 1).phase, Course::Source::kSelf);
  std::vector<Course::Ready> ready;
  course.arrived(0, 1, ready);
  ASSERT_EQ(ready.size(), 1u);
  EXPECT_EQ(ready[0].phase, 1u);
  EXPECT_EQ(ready[0].peer, 2u);
}

TEST(Course, NobodyWaitsForAMessageWithoutBytes) {
  Course course(forwarding());
  std::vector<std::uint64_t> all(16, 5);
  all[1 * 4 + 2] = 0;
  course.begin({.all = all});
  EXPECT_EQ(course.next_start(), 0u);
  EXPECT_EQ(course.next_start(), 1u);
  EXPECT_THAT(course.withheld(1), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(course.send_bytes(1), ElementsAre(0, 0, 0, 5));
}

TEST(Course, CountsPartsOfBlocks) {
  const auto plan = forwarding();
  const std::vector<std::uint64_t> weights = {1, 2, 3, 1};
  const Amounts amounts{.each = 10, .weights = weights};
  EXPECT_EQ(bytes_of(plan, amounts, {{1}, {2}}), 60u);
  EXPECT_EQ(bytes_of(plan, amounts, {{1}, {2}, 50, 100}), 10u);
  EXPECT_EQ(bytes_of(plan, amounts, {{1}, {2}, 10, 20}), 20u);
  EXPECT_EQ(bytes_of(plan, amounts, {{1}, {2}, 70}), 0u);
}

}  // namespace
}  // namespace alm::execute

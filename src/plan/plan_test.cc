#include "plan/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <set>

namespace alm::plan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Those with one direct phase; check_test.cc has all.
constexpr Algorithm kAlgorithms[] = {Algorithm::kDirect, Algorithm::kShiftExchange,
                                     Algorithm::kPairwise, Algorithm::kGroupShuffle,
                                     Algorithm::kSyncShuffle};
constexpr Permutation kPermutations[] = {Permutation::kShift, Permutation::kXor,
                                         Permutation::kEdgeColouring, Permutation::kBalanced};

LeafOf leaves(std::initializer_list<std::uint32_t> sizes) {
  LeafOf out(1);
  for (std::uint32_t leaf = 0; leaf < sizes.size(); ++leaf) {
    out[0].insert(out[0].end(), sizes.begin()[leaf], leaf);
  }
  return out;
}

LeafOf equal_leaves(std::uint32_t count, std::uint32_t hosts) {
  LeafOf out(1);
  for (std::uint32_t rank = 0; rank < count * hosts; ++rank) out[0].push_back(rank / hosts);
  return out;
}

Plan plan_of(Request request) {
  const auto plan = make_plan(request);
  EXPECT_TRUE(plan.ok());
  return plan.value();
}

// Everybody else once, rounds cut where they should be.
void expect_complete(const Plan& plan) {
  std::vector<std::uint32_t> others;
  for (std::uint32_t rank = 0; rank < plan.ranks; ++rank) {
    if (rank != plan.self.value) others.push_back(rank);
  }
  EXPECT_THAT(plan.rounds().send, testing::UnorderedElementsAreArray(others));
  EXPECT_THAT(plan.rounds().recv, testing::UnorderedElementsAreArray(others));
  if (plan.ranks == 1) return;
  ASSERT_EQ(plan.rounds().send_begin.size(), plan.rounds().recv_begin.size());
  EXPECT_EQ(plan.rounds().send_begin.front(), 0u);
  EXPECT_EQ(plan.rounds().send_begin.back(), plan.rounds().send.size());
  EXPECT_EQ(plan.rounds().recv_begin.back(), plan.rounds().recv.size());
  EXPECT_TRUE(std::is_sorted(plan.rounds().send_begin.begin(), plan.rounds().send_begin.end()));
  EXPECT_TRUE(std::is_sorted(plan.rounds().recv_begin.begin(), plan.rounds().recv_begin.end()));
}

TEST(Plan, EveryAlgorithmReachesEverybodyOnce) {
  const LeafOf two_level = {{0, 0, 0, 1, 1, 2, 2, 2, 2, 3, 3, 3},
                            {0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1}};
  for (const LeafOf& groups : {LeafOf{}, leaves({3, 3, 3}), leaves({5, 1, 2}), leaves({2, 2, 2, 2}),
                               leaves({1, 1}), two_level, leaves({1}), equal_leaves(4, 8)}) {
    const std::uint32_t ranks = groups.empty() ? 7 : static_cast<std::uint32_t>(groups[0].size());
    for (const Algorithm algorithm : kAlgorithms) {
      for (const Permutation permutation : kPermutations) {
        for (const bool aware : {false, true}) {
          for (std::uint32_t self = 0; self < ranks; ++self) {
            SCOPED_TRACE(testing::Message() << name_of(algorithm) << " " << name_of(permutation)
                                            << " p " << ranks << " rank " << self);
            expect_complete(plan_of({.ranks = ranks,
                                     .self = {self},
                                     .algorithm = algorithm,
                                     .permutation = permutation,
                                     .contention_aware = aware,
                                     .omega = 0,
                                     .leaf_of = groups}));
          }
        }
      }
    }
  }
}

TEST(Plan, SyncShuffleIsOneRoundInStepOrder) {
  const Plan plan =
      plan_of({.ranks = 5, .self = {1}, .permutation = Permutation::kShift, .leaf_of = {}});
  EXPECT_EQ(plan.rounds().count(), 1u);
  EXPECT_THAT(plan.rounds().send, ElementsAre(2, 3, 4, 0));
  EXPECT_THAT(plan.rounds().recv, ElementsAre(0, 4, 3, 2));
  EXPECT_TRUE(plan.rounds().interleaved);
}

TEST(Plan, RemapGoesThereAndBack) {
  // 2 leaves of 3: logical order 0 3 1 4 2 5, so the successor of 4 is 2.
  const Plan plan = plan_of(
      {.ranks = 6, .self = {4}, .permutation = Permutation::kShift, .leaf_of = leaves({3, 3})});
  EXPECT_THAT(plan.rounds().send, ElementsAre(2, 5, 0, 3, 1));
  EXPECT_THAT(plan.rounds().recv, ElementsAre(1, 3, 0, 5, 2));
}

TEST(Plan, ShiftExchangeHasOnePartnerEachWayPerRound) {
  const Plan plan =
      plan_of({.ranks = 4, .self = {0}, .algorithm = Algorithm::kShiftExchange, .leaf_of = {}});
  EXPECT_EQ(plan.rounds().count(), 3u);
  EXPECT_EQ(plan.permutation, Permutation::kShift);
  EXPECT_THAT(plan.rounds().send, ElementsAre(1, 2, 3));
  EXPECT_THAT(plan.rounds().recv, ElementsAre(3, 2, 1));
}

TEST(Plan, PairwisePairsEvenWhenAskedForAnotherPermutation) {
  for (const std::uint32_t ranks : {2u, 6u, 7u, 12u}) {
    for (const Permutation permutation : kPermutations) {
      const Plan plan = plan_of({.ranks = ranks,
                                 .self = {1},
                                 .algorithm = Algorithm::kPairwise,
                                 .permutation = permutation,
                                 .leaf_of = {}});
      EXPECT_EQ(plan.rounds().count(), ranks - 1);
      EXPECT_EQ(plan.rounds().send, plan.rounds().recv);
      EXPECT_EQ(plan.permutation,
                permutation == Permutation::kXor ? Permutation::kXor : Permutation::kEdgeColouring);
    }
  }
}

TEST(Plan, GroupShuffleCutsRoundsOfOmega) {
  const Plan plan = plan_of({.ranks = 16,
                             .self = {3},
                             .algorithm = Algorithm::kGroupShuffle,
                             .permutation = Permutation::kShift,
                             .omega = 4,
                             .leaf_of = {}});
  EXPECT_THAT(plan.rounds().send_begin, ElementsAre(0, 4, 8, 12, 15));
  EXPECT_TRUE(plan.rounds().interleaved);
  EXPECT_EQ(plan_of({.ranks = 16,
                     .self = {3},
                     .algorithm = Algorithm::kGroupShuffle,
                     .permutation = Permutation::kShift,
                     .leaf_of = {}})
                .rounds()
                .count(),
            3u);
}

TEST(Plan, DefaultOmegaIsThePublishedOne) {
  EXPECT_EQ(default_omega(16), 5u);
  EXPECT_EQ(default_omega(8), 4u);
  EXPECT_EQ(default_omega(2), 1u);
  EXPECT_EQ(default_omega(3), 2u);
}

TEST(Plan, OneRankHasNothingToDo) {
  for (const Algorithm algorithm : kAlgorithms) {
    EXPECT_EQ(
        plan_of({.ranks = 1, .self = {0}, .algorithm = algorithm, .leaf_of = {}}).rounds().count(),
        0u);
  }
}

TEST(Plan, SameRequestSamePlan) {
  const Request request{.ranks = 23, .self = {9}, .leaf_of = leaves({9, 8, 6})};
  EXPECT_EQ(plan_of(request).rounds().send, plan_of(request).rounds().send);
  EXPECT_EQ(plan_of(request).rounds().recv, plan_of(request).rounds().recv);
}

TEST(Plan, RefusesBadRequests) {
  const auto message = [](Request request) {
    const auto plan = make_plan(request);
    return plan.ok() ? std::string() : plan.error().message;
  };
  EXPECT_THAT(message({.ranks = 0, .self = {0}, .leaf_of = {}}), HasSubstr("expected at least 1"));
  EXPECT_THAT(message({.ranks = 4, .self = {4}, .leaf_of = {}}), HasSubstr("rank below 4"));
  EXPECT_THAT(message({.ranks = 4, .self = {0}, .leaf_of = {{0, 1}}}),
              HasSubstr("one per rank, 4"));
  EXPECT_THAT(message({.ranks = 4, .self = {0}, .leaf_of = {{0, 0, 1, 1}, {0, 1, 0, 1}}}),
              HasSubstr("nested"));
}

TEST(Names, ParseWhatTheyPrint) {
  for (const Algorithm algorithm : kAlgorithms) {
    EXPECT_EQ(parse_algorithm(name_of(algorithm)).value(), algorithm);
  }
  for (const Permutation permutation : kPermutations) {
    EXPECT_EQ(parse_permutation(name_of(permutation)).value(), permutation);
  }
}

TEST(Names, UnknownOnesListTheValidOnes) {
  EXPECT_THAT(parse_algorithm("ring").error().message,
              HasSubstr("unknown algorithm `ring`; expected one of: direct, shift-exchange, "));
  EXPECT_EQ(parse_permutation("").error().message,
            "unknown permutation ``; expected one of: shift, xor, edge-colouring, balanced");
}

TEST(Names, MayCarryAShape) {
  EXPECT_EQ(parse_named("grid:8x4").value().shape, (std::vector<std::uint32_t>{8, 4}));
  EXPECT_EQ(parse_named("group-shuffle:5").value().shape, std::vector<std::uint32_t>{5});
  EXPECT_TRUE(parse_named("pairwise").value().shape.empty());
  EXPECT_EQ(parse_named("pairwise:3").error().message,
            "`pairwise:3`: `pairwise` takes no number after it");
  EXPECT_EQ(parse_named("grid:8xx4").error().message,
            "`grid:8xx4`: `grid` takes numbers, as in `grid:8x4`");
  EXPECT_EQ(parse_named("group-shuffle:4x2").error().message,
            "`group-shuffle:4x2`: `group-shuffle` takes one number, as in `group-shuffle:4`");
}

TEST(Plan, IsKnownByAlgorithmShapeAndPermutation) {
  const auto identity = [](Request request) {
    request.ranks = 16;
    request.self = {3};
    return plan_of(request).identity;
  };
  EXPECT_EQ(identity({}), "sync-shuffle@balanced");
  EXPECT_EQ(identity({.algorithm = Algorithm::kDirect}), "direct");
  EXPECT_EQ(identity({.algorithm = Algorithm::kPairwise}), "pairwise@edge-colouring");
  EXPECT_EQ(identity({.algorithm = Algorithm::kGroupShuffle, .permutation = Permutation::kShift}),
            "group-shuffle:5@shift");
  EXPECT_EQ(identity({.permutation = Permutation::kXor, .contention_aware = false}),
            "sync-shuffle@xor-plain");
  EXPECT_EQ(identity({.algorithm = Algorithm::kBruck}), "bruck:4x5");
  EXPECT_EQ(identity({.algorithm = Algorithm::kOneWayBruck}), "one-way-bruck:2");
}

// This thread's processor time, the least of several runs: others may use the machine.
double seconds(const Request& request) {
  const auto now = [] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  };
  double least = 1e9;
  for (int i = 0; i < 9; ++i) {
    const double begin = now();
    EXPECT_TRUE(make_plan(request).ok());
    least = std::min(least, now() - begin);
  }
  return least;
}

// 16 times the ranks cost about 16 times the time, far from the 256 of something quadratic.
TEST(Plan, CostGrowsWithTheNumberOfPartners) {
  const auto ratio = [](LeafOf small, LeafOf large) {
    const auto ranks = [](const LeafOf& groups) {
      return static_cast<std::uint32_t>(groups[0].size());
    };
    const Request a{.ranks = ranks(small), .self = {5}, .leaf_of = small};
    const Request b{.ranks = ranks(large), .self = {5}, .leaf_of = large};
    seconds(a);
    return seconds(b) / seconds(a);
  };
  EXPECT_LT(ratio(equal_leaves(32, 32), equal_leaves(512, 32)), 120);
  LeafOf small = equal_leaves(32, 32), large = equal_leaves(512, 32);
  small[0].back() = large[0].back() = 0;  // no longer equal
  EXPECT_LT(ratio(small, large), 120);
}

}  // namespace
}  // namespace alm::plan

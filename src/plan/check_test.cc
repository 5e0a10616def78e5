// Every algorithm there is, by the one checker; and plans that it must refuse.
#include "plan/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "plan/host_aggregation.h"

namespace alm::plan {
namespace {

using testing::HasSubstr;
using Shape = std::vector<std::uint32_t>;

constexpr Algorithm kAll[] = {
#define ALM_ALGORITHM(enumerator, name, maker, shape, knows) Algorithm::enumerator,
#include "plan/algorithms.def"
#undef ALM_ALGORITHM
};

LeafOf leaves(const std::vector<std::uint32_t>& sizes) {
  LeafOf out(1);
  for (std::uint32_t leaf = 0; leaf < sizes.size(); ++leaf) {
    out[0].insert(out[0].end(), sizes[leaf], leaf);
  }
  return out;
}

// Empty: the algorithm has no plan for so many ranks.
std::vector<Plan> plans_if_any(Request request) {
  std::vector<Plan> plans;
  // Those that know sites have three, dealt out.
  for (std::uint32_t rank = 0; rank < request.ranks; ++rank) request.site_of.push_back(rank % 3);
  for (std::uint32_t rank = 0; rank < request.ranks; ++rank) {
    request.self = {rank};
    auto plan = make_plan(request);
    if (!plan) return {};
    plans.push_back(std::move(plan).value());
  }
  return plans;
}

std::vector<Plan> lifted(const std::vector<Plan>& of_hosts, const Placement& placement) {
  std::vector<Plan> plans;
  for (std::uint32_t rank = 0; rank < placement.rank_count(); ++rank) {
    plans.push_back(over_hosts(of_hosts[placement.host_of[rank]], placement, {rank}));
  }
  return plans;
}

// ranks_on[host], rank after rank; or dealt out round robin.
Placement placement(const std::vector<std::uint32_t>& ranks_on, bool dealt = false) {
  std::vector<std::string> names;
  if (dealt) {
    for (std::uint32_t turn = 0; turn < 8; ++turn) {
      for (std::size_t host = 0; host < ranks_on.size(); ++host) {
        if (turn < ranks_on[host]) names.push_back("h" + std::to_string(host));
      }
    }
  } else {
    for (std::size_t host = 0; host < ranks_on.size(); ++host) {
      for (std::uint32_t i = 0; i < ranks_on[host]; ++i)
        names.push_back("h" + std::to_string(host));
    }
  }
  return Placement::of(std::vector<std::string_view>(names.begin(), names.end()));
}

TEST(Proof, EveryAlgorithmDeliversEveryBlockOnceForEveryNumberOfRanks) {
  for (const Algorithm algorithm : kAll) {
    std::uint32_t made = 0;
    for (std::uint32_t ranks = 1; ranks <= 34; ++ranks) {
      const auto plans = plans_if_any({.ranks = ranks, .self = {}, .algorithm = algorithm});
      if (plans.empty()) continue;
      ++made;
      ASSERT_EQ(prove(plans).wrong, "") << name_of(algorithm) << " on " << ranks;
    }
    EXPECT_GE(made, 6u) << name_of(algorithm);
  }
}

TEST(Proof, EveryAlgorithmDeliversOverUnequalLeaves) {
  for (const auto& groups : {leaves({3, 3, 3}), leaves({5, 1, 2}), leaves({8, 8, 8, 8})}) {
    const auto ranks = static_cast<std::uint32_t>(groups[0].size());
    for (const Algorithm algorithm : kAll) {
      for (const bool aware : {true, false}) {
        const auto plans = plans_if_any({.ranks = ranks,
                                         .self = {},
                                         .algorithm = algorithm,
                                         .contention_aware = aware,
                                         .leaf_of = groups});
        if (plans.empty()) continue;
        EXPECT_EQ(prove(plans, groups).wrong, "") << name_of(algorithm);
      }
    }
  }
}

TEST(Proof, EveryShapeOfGridAndBruckDelivers) {
  const auto proof = [](std::uint32_t ranks, Algorithm algorithm, const Shape& shape) {
    const auto plans =
        plans_if_any({.ranks = ranks, .self = {}, .algorithm = algorithm, .shape = shape});
    return plans.empty() ? "refused" : prove(plans).wrong;
  };
  EXPECT_EQ(proof(24, Algorithm::kGrid, {4, 6}), "");
  EXPECT_EQ(proof(24, Algorithm::kGrid, {2, 3, 4}), "");
  EXPECT_EQ(proof(32, Algorithm::kGrid, {2, 2, 2, 2, 2}), "");
  EXPECT_EQ(proof(24, Algorithm::kGrid, {5, 5}), "refused");
  EXPECT_EQ(proof(31, Algorithm::kBruck, {5, 7}), "");
  EXPECT_EQ(proof(31, Algorithm::kBruck, {3, 3, 5}), "");
  EXPECT_EQ(proof(31, Algorithm::kBruck, {4, 9}), "refused");
  for (const std::uint32_t radix : {2u, 3u, 4u, 7u, 40u}) {
    EXPECT_EQ(proof(31, Algorithm::kOneWayBruck, {radix}), "") << radix;
  }
}

TEST(Proof, EveryAlgorithmDeliversOverHostsWithSeveralRanks) {
  const std::vector<std::vector<std::uint32_t>> cases = {
      {2, 2, 2, 2}, {4, 4}, {1, 3, 2, 1, 4, 1}, {1, 1, 1, 2}, {3, 1, 2}};
  for (const auto& ranks_on : cases) {
    for (const bool dealt : {false, true}) {
      const Placement where = placement(ranks_on, dealt);
      for (const Algorithm algorithm : kAll) {
        const auto of_hosts =
            plans_if_any({.ranks = where.hosts(), .self = {}, .algorithm = algorithm});
        if (of_hosts.empty()) continue;
        const Proof proof = prove(lifted(of_hosts, where), {where.host_of});
        EXPECT_EQ(proof.wrong, "") << name_of(algorithm) << ", " << where.text();
      }
    }
  }
}

TEST(Proof, CountsWhatCrossesBetweenLeaves) {
  const auto groups = leaves({8, 8, 8, 8});
  const auto crossings = [&](Algorithm algorithm) {
    return prove(plans_if_any({.ranks = 32, .self = {}, .algorithm = algorithm, .leaf_of = groups}),
                 groups)
        .crossings.front();
  };
  const std::uint64_t blocks = 32 * 24;
  EXPECT_EQ(crossings(Algorithm::kSyncShuffle), (Crossings{blocks, blocks}));
  // Lines of 8 keep to a leaf: each block crosses once, in one of three messages of a rank.
  EXPECT_EQ(crossings(Algorithm::kGrid), (Crossings{32 * 3, blocks}));
}

TEST(Proof, AggregationByHostLetsOneMessageCrossForEachPairOfHosts) {
  const Placement where = placement({4, 4, 4});
  const auto of_hosts = plans_if_any({.ranks = 3, .self = {}});
  const Proof proof = prove(lifted(of_hosts, where), {where.host_of});
  EXPECT_EQ(proof.crossings.front(), (Crossings{3 * 2, 12 * 8}));
}

TEST(Proof, WhereEachHostHasOneRankThePlanOfTheHostsIsThatOfTheRanks) {
  const auto plan = make_plan({.ranks = 3, .self = {1}}).value();
  EXPECT_EQ(over_hosts(plan, placement({1, 1, 1}), {1}).identity, plan.identity);
  EXPECT_EQ(over_hosts(plan, placement({2, 2, 2}), {1}).identity, "by-host/" + plan.identity);
}

TEST(Proof, RefusesAPlanThatLosesABlock) {
  auto plans = plans_if_any({.ranks = 6, .self = {}, .algorithm = Algorithm::kGrid});
  // Rank 0 keeps the last block of its first message, and its partner expects it to.
  Phase& sender = plans[0].phases[0];
  const std::uint32_t to = sender.rank_of(sender.rounds.send[0]).value;
  sender.out.erase(sender.out.begin() + sender.out_begin[1] - 1);
  for (std::size_t i = 1; i < sender.out_begin.size(); ++i) --sender.out_begin[i];
  EXPECT_THAT(prove(plans).wrong, HasSubstr("another message than that expects"));
  Phase& receiver = plans[to].phases[0];
  std::size_t from = 0;
  while (receiver.rank_of(receiver.rounds.recv[from]).value != 0) ++from;
  receiver.in.erase(receiver.in.begin() + receiver.in_begin[from + 1] - 1);
  for (std::size_t i = from + 1; i < receiver.in_begin.size(); ++i) --receiver.in_begin[i];
  EXPECT_THAT(prove(plans).wrong,
              testing::AnyOf(HasSubstr("does not have"), HasSubstr("does not arrive")));
}

TEST(Proof, RefusesAMessageThatNobodySends) {
  auto plans = plans_if_any({.ranks = 4, .self = {}});
  base::Rounds& rounds = plans[2].phases[0].rounds;
  rounds.send.pop_back();
  rounds.send_begin.back() -= 1;
  EXPECT_THAT(prove(plans).wrong, HasSubstr("does not send rank"));
}

TEST(Proof, PartsOfABlockMayTravelApart) {
  // Rank 0 hands rank 1 its block in two halves: one directly, one by way of rank 2.
  const auto plan = [](std::uint32_t self) {
    Plan made;
    made.ranks = 3;
    made.self = {self};
    for (int phase = 0; phase < 2; ++phase) {
      Phase& added = made.phases.emplace_back();
      added.self = self;
      added.out_begin = added.in_begin = {0};
      added.rounds.send_begin = added.rounds.recv_begin = {0, 0};
    }
    return made;
  };
  std::vector<Plan> plans = {plan(0), plan(1), plan(2)};
  const auto send = [&](std::size_t phase, std::uint32_t from, std::uint32_t to,
                        const std::vector<Move>& moves) {
    Phase& out = plans[from].phases[phase];
    out.rounds.send.push_back(to);
    out.rounds.send_begin[1] += 1;
    out.out.insert(out.out.end(), moves.begin(), moves.end());
    out.out_begin.push_back(static_cast<std::uint32_t>(out.out.size()));
    Phase& in = plans[to].phases[phase];
    in.rounds.recv.push_back(from);
    in.rounds.recv_begin[1] += 1;
    in.in.insert(in.in.end(), moves.begin(), moves.end());
    in.in_begin.push_back(static_cast<std::uint32_t>(in.in.size()));
  };
  const Move low{{0}, {1}, 0, 100};
  const Move high{{0}, {1}, 100, Move::kToTheEnd};
  send(0, 0, 1, {low});
  send(0, 0, 2, {high, {{0}, {2}}});
  send(0, 1, 0, {{{1}, {0}}});
  send(0, 1, 2, {{{1}, {2}}});
  send(0, 2, 0, {{{2}, {0}}});
  send(0, 2, 1, {{{2}, {1}}});
  EXPECT_THAT(prove(plans).wrong, HasSubstr("block 0 to 1 does not arrive"));
  send(1, 2, 1, {high});
  EXPECT_EQ(prove(plans).wrong, "");
}

}  // namespace
}  // namespace alm::plan

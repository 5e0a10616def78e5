#include "plan/multi_site.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "plan/check.h"
#include "plan/plans_test_ranks.h"

namespace alm::plan {
namespace {

Request request_of(const std::vector<std::uint32_t>& sizes) {
  Request request;
  request.algorithm = Algorithm::kMultiSite;
  for (std::uint32_t site = 0; site < sizes.size(); ++site) {
    request.site_of.insert(request.site_of.end(), sizes[site], site);
  }
  request.ranks = static_cast<std::uint32_t>(request.site_of.size());
  return request;
}

std::uint64_t pairs_apart(const Request& request) {
  std::uint64_t pairs = 0;
  for (const std::uint32_t from : request.site_of) {
    for (const std::uint32_t to : request.site_of) pairs += from != to ? 1 : 0;
  }
  return pairs;
}

TEST(MultiSite, EveryBlockCrossesOnceForAnySitesOrdersAndAlgorithms) {
  std::mt19937 random(7);
  const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
  for (int i = 0; i < 1000; ++i) {
    std::vector<std::uint32_t> sizes(3 + below(3));
    for (auto& size : sizes) size = 1 + below(6);
    Request request = request_of(sizes);
    std::shuffle(request.site_of.begin(), request.site_of.end(), random);
    const std::uint64_t pairs = pairs_apart(request);
    for (const bool combined : {false, true}) {
      request.combined = combined;
      const Proof proof = prove(plans_of(request), {request.site_of});
      ASSERT_EQ(proof.wrong, "") << "case " << i;
      ASSERT_EQ(proof.crossings.front().blocks, pairs) << "case " << i;
      if (!combined) {
        ASSERT_EQ(proof.crossings.front().messages, pairs);
      }
    }
    request.combined = false;
    for (const auto algorithm :
         {Algorithm::kLocalGroup, Algorithm::kLocalGroupSimple, Algorithm::kCoordinator}) {
      request.algorithm = algorithm;
      const Proof proof = prove(plans_of(request), {request.site_of});
      ASSERT_EQ(proof.wrong, "") << "case " << i << ", " << name_of(algorithm);
      ASSERT_EQ(proof.crossings.front().blocks, pairs) << "case " << i << name_of(algorithm);
    }
  }
}

TEST(MultiSite, WhatLeavesASiteAtOnceGoesToDifferentReceivers) {
  const Request request = request_of({10, 20});
  const auto plans = plans_of(request);
  for (std::size_t turn = 0; turn < 20; ++turn) {
    std::vector<std::uint32_t> to(30);
    for (std::uint32_t rank = 0; rank < 10; ++rank) {
      const Phase& far = plans[rank].phases.front();
      ASSERT_EQ(far.reach, Reach::kFar);
      ++to[far.rank_of(far.rounds.send[turn]).value];
    }
    EXPECT_EQ(*std::max_element(to.begin(), to.end()), 1u) << "turn " << turn;
  }
}

TEST(MultiSite, SitesTakeTurnsByTheirSizes) {
  const auto plans = plans_of(request_of({1, 6, 2}));
  const Phase& far = plans[0].phases.front();
  std::vector<std::uint32_t> sites;
  for (const base::PeerId peer : far.rounds.send)
    sites.push_back(far.rank_of(peer).value < 7 ? 1 : 2);
  EXPECT_EQ(sites, (std::vector<std::uint32_t>{1, 1, 2, 1, 1, 1, 2, 1}));
}

TEST(MultiSite, SmallBlocksCrossTogether) {
  constexpr std::uint32_t kPacket = 1448;
  const Request request = request_of({30, 30});
  EXPECT_EQ(combined_bytes_max(request, kPacket), 48u);  // 30 of them fit a packet
  // Two ranks at the larger site collect 7 blocks for one of the smaller.
  EXPECT_EQ(combined_bytes_max(request_of({3, 7}), kPacket), kPacket / 4);
  Request combined = request;
  combined.self = {0};
  combined.combined = true;
  EXPECT_EQ(make_plan(combined).value().identity, "multi-site-combined");
  EXPECT_EQ(prove(plans_of(combined), {request.site_of}).crossings.front().messages, 60u);
}

}  // namespace
}  // namespace alm::plan

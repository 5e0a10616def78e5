#include "carrier/partner_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

namespace alm::carrier {
namespace {

using PartnerPairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

// The rows of members that send to each other; every second time the receiver alone says so.
std::vector<std::uint64_t> rows_of(std::uint32_t members, const PartnerPairs& pairs) {
  std::vector<std::uint64_t> rows;
  for (std::uint32_t self = 0; self < members; ++self) {
    std::vector<std::uint64_t> send(members), recv(members);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      if (pairs[i].first == self && i % 2 == 0) send[pairs[i].second] = 1;
      if (pairs[i].second == self) recv[pairs[i].first] = 1;
    }
    const auto row = partner_row(send, recv, self);
    rows.insert(rows.end(), row.begin(), row.end());
  }
  return rows;
}

std::vector<PartnerTree> trees_of(std::uint32_t members, const std::vector<std::uint64_t>& rows) {
  std::vector<PartnerTree> trees;
  for (std::uint32_t self = 0; self < members; ++self) trees.emplace_back(members, self, rows);
  return trees;
}

std::uint32_t depth_of_trees(const std::vector<PartnerTree>& trees) {
  std::uint32_t deepest = 0;
  for (std::uint32_t member = 0; member < trees.size(); ++member) {
    std::uint32_t depth = 0;
    for (auto at = trees[member].parent(); at; at = trees[*at].parent()) {
      if (++depth > trees.size()) return depth;  // a circle
    }
    deepest = std::max(deepest, depth);
  }
  return deepest;
}

TEST(PartnerTree, JoinsAllMembersByPartnersWhereTheseConnectThem) {
  for (std::uint32_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const auto below = [&](std::uint32_t end) {
      return static_cast<std::uint32_t>(random() % end);
    };
    const std::uint32_t members = 2 + below(150);
    const bool connected = seed % 2 == 0;
    PartnerPairs pairs;
    for (std::uint32_t member = 1; member < members; ++member) {
      if (connected || below(3) > 0) pairs.emplace_back(member, below(member));
    }
    for (std::uint32_t more = 0; more < members; ++more) {
      const std::uint32_t a = below(members);
      const std::uint32_t b = below(members);
      if (connected && a != b) pairs.emplace_back(a, b);
    }
    const auto is_pair = [&](std::uint32_t a, std::uint32_t b) {
      return std::any_of(pairs.begin(), pairs.end(), [&](const auto& pair) {
        return pair == std::pair(a, b) || pair == std::pair(b, a);
      });
    };
    const auto trees = trees_of(members, rows_of(members, pairs));
    std::uint32_t roots = 0;
    std::uint32_t children = 0;
    std::uint32_t bridges = 0;
    for (std::uint32_t member = 0; member < members; ++member) {
      const auto parent = trees[member].parent();
      roots += parent ? 0 : 1;
      children += static_cast<std::uint32_t>(trees[member].children().size());
      if (!parent) continue;
      const auto& siblings = trees[*parent].children();
      EXPECT_EQ(std::count(siblings.begin(), siblings.end(), member), 1);
      bridges += is_pair(member, *parent) ? 0 : 1;
    }
    EXPECT_EQ(roots, 1u);
    EXPECT_EQ(children, members - 1);
    EXPECT_LT(depth_of_trees(trees), members);
    EXPECT_TRUE(!connected || bridges == 0);
  }
}

TEST(PartnerTree, BeginsInTheMiddle) {
  PartnerPairs ring;
  for (std::uint32_t member = 0; member < 20; ++member)
    ring.emplace_back(member, (member + 1) % 20);
  EXPECT_LE(depth_of_trees(trees_of(20, rows_of(20, ring))), 11u);
  PartnerPairs line(ring.begin(), ring.end() - 1);
  EXPECT_EQ(depth_of_trees(trees_of(20, rows_of(20, line))), 10u);
}

TEST(PartnerTree, MembersWithoutPartnersHangOnTheRoot) {
  const auto trees = trees_of(5, rows_of(5, {{1, 2}, {2, 3}}));
  EXPECT_EQ(depth_of_trees(trees), 2u) << "0 is the first, and the root; 2 has 1 and 3";
  EXPECT_EQ(trees[0].children().size(), 2u);
}

TEST(PartnerTree, AMemberNoticesThatItsEdgesLeadToOthers) {
  // Both ends of the first, the third and the fifth say so; 3 is alone.
  const auto rows = rows_of(4, {{0, 1}, {0, 1}, {1, 2}, {1, 2}, {0, 2}, {0, 2}});
  const auto trees = trees_of(4, rows);
  for (std::uint32_t member = 0; member < 4; ++member) {
    EXPECT_FALSE(trees[member].strays(std::span(rows).subspan(member, 1))) << member;
  }
  const std::vector<std::uint64_t> nobody(1);
  std::uint32_t noticed = 0;
  for (std::uint32_t member = 0; member < 4; ++member) noticed += trees[member].strays(nobody);
  EXPECT_EQ(noticed, 3u);
}

}  // namespace
}  // namespace alm::carrier

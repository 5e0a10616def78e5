#include "plan/assigned_ways.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace alm::plan {
namespace {

constexpr std::uint32_t kMembers = 16, kWays = 4;

std::vector<std::uint32_t> four_leaves() {
  std::vector<std::uint32_t> leaf_of;
  for (std::uint32_t i = 0; i < kMembers; ++i) leaf_of.push_back(i / 4);
  return leaf_of;
}

// Bytes of the fullest link, up or down.
std::uint64_t fullest(const std::vector<std::uint32_t>& leaf_of,
                      const std::vector<std::uint8_t>& way,
                      const std::vector<std::uint64_t>& bytes) {
  std::map<std::tuple<bool, std::uint32_t, std::uint8_t>, std::uint64_t> load;
  for (std::uint32_t from = 0; from < leaf_of.size(); ++from) {
    for (std::uint32_t to = 0; to < leaf_of.size(); ++to) {
      const std::size_t pair = from * leaf_of.size() + to;
      if (way[pair] == kNoWay) continue;
      load[{true, leaf_of[from], way[pair]}] += bytes[pair];
      load[{false, leaf_of[to], way[pair]}] += bytes[pair];
    }
  }
  std::uint64_t most = 0;
  for (const auto& [link, sum] : load) most = std::max(most, sum);
  return most;
}

TEST(AssignedWays, APermutationLoadsEveryWayAlike) {
  const auto leaf_of = four_leaves();
  for (std::uint32_t shift = 1; shift < kMembers; ++shift) {
    std::vector<std::uint64_t> bytes(kMembers * kMembers, 0);
    for (std::uint32_t i = 0; i < kMembers; ++i) {
      bytes[i * kMembers + (i + shift) % kMembers] = 1000;
    }
    EXPECT_EQ(fullest(leaf_of, assign_ways_to_blocks(leaf_of, kWays, bytes), bytes), 1000U);
  }
}

TEST(AssignedWays, EveryStepIsSpread) {
  const auto leaf_of = four_leaves();
  std::vector<std::vector<base::PeerId>> sends(kMembers);
  for (std::uint32_t i = 0; i < kMembers; ++i) {
    for (std::uint32_t step = 1; step < kMembers; ++step) {
      sends[i].push_back((i + step) % kMembers);
    }
  }
  const auto way = assign_ways(leaf_of, kWays, sends);
  for (std::uint32_t step = 0; step + 1 < kMembers; ++step) {
    std::vector<std::uint64_t> bytes(kMembers * kMembers, 0);
    for (std::uint32_t i = 0; i < kMembers; ++i) bytes[i * kMembers + sends[i][step]] = 1;
    EXPECT_EQ(fullest(leaf_of, way, bytes), 1U) << step;
  }
  for (std::uint32_t i = 0; i < kMembers; ++i) {
    for (std::uint32_t k = 0; k < kMembers; ++k) {
      EXPECT_EQ(way[i * kMembers + k] == kNoWay, leaf_of[i] == leaf_of[k]);
    }
  }
}

TEST(AssignedWays, LargeBlocksGoApart) {
  const std::vector<std::uint32_t> leaf_of{0, 0, 0, 0, 1, 1, 1, 1};
  std::vector<std::uint64_t> bytes(64, 0);
  const std::uint64_t sizes[] = {900, 100, 800, 200};
  for (std::uint32_t i = 0; i < 4; ++i) bytes[i * 8 + 4 + i] = sizes[i];
  EXPECT_EQ(fullest(leaf_of, assign_ways_to_blocks(leaf_of, 2, bytes), bytes), 1000U);
}

TEST(AssignedWays, AMemberOfNoKnownLeafHasNone) {
  const std::vector<std::uint32_t> leaf_of{0, 1, kNoLeaf};
  const auto way = assign_ways_to_blocks(leaf_of, 2, std::vector<std::uint64_t>(9, 1));
  EXPECT_EQ(std::count(way.begin(), way.end(), kNoWay), 7);
  EXPECT_NE(way[0 * 3 + 1], kNoWay);
}

}  // namespace
}  // namespace alm::plan

#include "tuning/ways.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace alm::tuning {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;

constexpr std::uint32_t kPacketBytes = 1448;
constexpr Way kRounds{};
constexpr Way kPairwise = message_way(plan::MessageOrder::kPairwise);
constexpr Way kBruck = message_way(plan::MessageOrder::kBruck);

std::vector<Way> ways(std::uint32_t ranks, std::uint64_t bytes, bool udp = true) {
  static std::vector<plan::Plan> phased;
  phased = plan::combining_plans(ranks, base::Rank{0}, {}, kPacketBytes);
  WaysWanted wanted{ranks, bytes, kPacketBytes, {}, {}};
  if (udp) {
    wanted.phased = phased;
    wanted.model = plan::choose_combining(phased, bytes, kPacketBytes);
  }
  return ways_to_try(wanted);
}

TEST(Ways, TheModelsChoiceComesFirstThenTheLibrarysOwn) {
  for (const std::uint64_t bytes : {1u, 100u, 300u, 1000u, 65536u, 10'000'000u}) {
    const auto all = ways(32, bytes);
    EXPECT_EQ(all[0].kind == Way::Kind::kPhased, bytes <= 300) << bytes;
    EXPECT_EQ(all[1], kNativeWay);
    EXPECT_THAT(all, Contains(kPairwise));
    for (std::size_t i = 0; i < all.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) EXPECT_NE(all[i], all[j]);
    }
  }
}

TEST(Ways, BothSidesOfTheBoundaryAreTriedNearIt) {
  EXPECT_THAT(ways(32, 250), Contains(kRounds));
  EXPECT_THAT(ways(32, 250), Contains(phased_way(0)));
  EXPECT_THAT(ways(32, 65536), Not(Contains(phased_way(0))));
}

TEST(Ways, CombiningMessagesIsForTinyBlocks) {
  EXPECT_THAT(ways(32, 8), Contains(kBruck));
  EXPECT_THAT(ways(32, 4096), Not(Contains(kBruck)));
}

TEST(Ways, LargeBlocksHaveFew) {
  EXPECT_THAT(ways(32, 1 << 20), ElementsAre(kRounds, kNativeWay, kPairwise));
}

TEST(Ways, TwoRanksHaveNothingToOrder) {
  EXPECT_THAT(ways(2, 8), ElementsAre(kRounds, kNativeWay));
}

TEST(Ways, WithoutUdp) {
  const auto all = ways(32, 8, false);
  EXPECT_EQ(all.front(), kRounds);
  EXPECT_THAT(all, Not(Contains(phased_way(0))));
}

TEST(Ways, KinIsWhoCarriesIt) {
  EXPECT_EQ(kin_of(kRounds), Kin::kUdp);
  EXPECT_EQ(kin_of(phased_way(1)), Kin::kUdp);
  EXPECT_EQ(kin_of(kNativeWay), Kin::kLibrary);
  EXPECT_EQ(kin_of(kPairwise), Kin::kLibrary);
}

TEST(Ways, OnesThatCombineBlocks) {
  EXPECT_TRUE(combines(phased_way(0)));
  EXPECT_TRUE(combines(kNativeWay)) << "it may";
  EXPECT_TRUE(combines(message_way(plan::MessageOrder::kBruck)));
  EXPECT_FALSE(combines(Way{}));
  for (const auto order :
       {plan::MessageOrder::kPairwise, plan::MessageOrder::kFew, plan::MessageOrder::kAll}) {
    EXPECT_FALSE(combines(message_way(order)));
  }
}

}  // namespace
}  // namespace alm::tuning

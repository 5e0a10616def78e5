#include "tuning/candidates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string_view>

namespace alm::tuning {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;

constexpr std::uint32_t kPacketBytes = 1448;
constexpr Way kRounds{};
constexpr Way kPairwise = message_way(plan::MessageOrder::kPairwise);
constexpr Way kBruck = message_way(plan::MessageOrder::kBruck);
constexpr Way kExchange = message_way(plan::MessageOrder::kExchange);
constexpr Way kMany = message_way(plan::MessageOrder::kMany);

std::vector<Way> ways(std::uint32_t ranks, std::uint64_t bytes, bool udp = true) {
  static std::vector<plan::Plan> phased;
  phased = plan::combining_plans(ranks, base::Rank{0}, {}, kPacketBytes);
  CandidatesWanted wanted{ranks, bytes, kPacketBytes, {}, {}};
  if (udp) {
    wanted.combining = phased;
    wanted.model = plan::choose_combining(phased, bytes, kPacketBytes);
  }
  return candidates(wanted);
}

TEST(Candidates, TheModelsChoiceComesFirstThenTheLibrarysOwn) {
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

TEST(Candidates, BothSidesOfTheBoundaryAreTriedNearIt) {
  EXPECT_THAT(ways(32, 250), Contains(kRounds));
  EXPECT_THAT(ways(32, 250), Contains(phased_way(0)));
  EXPECT_THAT(ways(32, 65536), Not(Contains(phased_way(0))));
}

// A grid of 4 x 2 sends 1.43 times as many packets of 50 KB, one of 4 x 4 18 of 1 KB in place
// of 15.
TEST(Candidates, CombiningIsTriedWhereItSavesPackets) {
  int tried = 0;
  for (const std::uint32_t ranks : {8u, 12u, 16u, 32u}) {
    for (std::uint64_t bytes = 1; bytes < 2'000'000; bytes += 1 + bytes / 16) {
      const auto plans = plan::combining_plans(ranks, base::Rank{0}, {}, kPacketBytes);
      const auto direct = plan::direct_traffic(ranks, bytes, kPacketBytes).packets;
      for (const Way way : ways(ranks, bytes)) {
        if (way.kind != Way::Kind::kPhased) continue;
        EXPECT_LT(plan::traffic_of(plans[way.index], bytes, kPacketBytes).packets, direct)
            << ranks << " ranks, " << bytes;
        ++tried;
      }
    }
  }
  EXPECT_GT(tried, 0);
}

TEST(Candidates, CombiningMessagesIsForTinyBlocks) {
  EXPECT_THAT(ways(32, 8), Contains(kBruck));
  EXPECT_THAT(ways(32, 4096), Not(Contains(kBruck)));
}

TEST(Candidates, LargeBlocksHaveFew) {
  EXPECT_THAT(ways(32, 1 << 20), ElementsAre(kRounds, kNativeWay, kPairwise));
}

TEST(Candidates, SeveralLeadersAreTriedAfterOneOrTakeItsPlace) {
  CandidatesWanted wanted;
  wanted.ranks = 8;
  wanted.bytes = 1 << 20;
  wanted.sharing = Sharing::kTried;
  EXPECT_THAT(candidates(wanted), ElementsAre(kRounds, kNativeWay, kSharedWay, kPairwise));
  wanted.sharing = Sharing::kFixed;
  EXPECT_THAT(candidates(wanted), ElementsAre(kSharedWay, kNativeWay, kPairwise));
  EXPECT_EQ(transport_of(kSharedWay, Transport::kUdp), Transport::kUdp);
}

Foreseen ms(base::Nanos time) {
  return {time * base::kMillisecond, time * 9 / 10 * base::kMillisecond,
          time * 11 / 10 * base::kMillisecond};
}

TEST(Candidates, WhatIsForeseenStandsInTheOrderOfItsTimes) {
  CandidatesWanted wanted;
  wanted.ranks = 8;
  wanted.bytes = 1 << 20;
  wanted.foreseen = [](Way way) { return way == kPairwise ? ms(10) : ms(30); };
  EXPECT_THAT(candidates(wanted), ElementsAre(kPairwise, kRounds, kNativeWay));
  wanted.foreseen = [](Way way) {
    return way == kPairwise ? ms(10) : way == kNativeWay ? ms(20) : Foreseen{};
  };
  EXPECT_THAT(candidates(wanted), ElementsAre(kRounds, kPairwise, kNativeWay))
      << "of ours nothing is known: it keeps its place";
}

TEST(Candidates, WhatHasToConnectFirstDoesNotBegin) {
  CandidatesWanted wanted;
  wanted.ranks = 8;
  wanted.bytes = 200;
  wanted.foreseen = [](Way way) { return way == kPairwise ? ms(10) : ms(30); };
  const auto all = candidates(wanted);
  EXPECT_THAT(all[0], kRounds);
  EXPECT_THAT(all[1], kPairwise);
}

TEST(Candidates, OverUdpTheProfileTellsWhichMayBeAsGood) {
  const auto combining =
      plan::combining_plans(32, base::Rank{0}, {}, kPacketBytes, plan::Keep::kAll);
  ASSERT_GE(combining.size(), 2u);
  CandidatesWanted wanted;
  wanted.ranks = 32;
  wanted.bytes = 8;
  wanted.packet_bytes = kPacketBytes;
  wanted.combining = combining;
  wanted.model = 1;
  wanted.foreseen = [](Way way) {
    if (way == phased_way(1)) return ms(10);
    return way == phased_way(0) ? ms(11) : ms(40);
  };
  const auto all = candidates(wanted);
  EXPECT_EQ(all[0], phased_way(1));
  EXPECT_EQ(all[1], phased_way(0));
  EXPECT_THAT(all, Not(Contains(kRounds)));
}

TEST(Candidates, TwoRanksHaveNothingToOrder) {
  EXPECT_THAT(ways(2, 8), ElementsAre(kRounds, kNativeWay));
}

TEST(Candidates, WithoutUdp) {
  const auto all = ways(32, 8, false);
  EXPECT_EQ(all.front(), kRounds);
  EXPECT_THAT(all, Not(Contains(phased_way(0))));
}

std::vector<Way> ways_over_messages(std::uint32_t ranks, std::uint64_t bytes) {
  CandidatesWanted wanted;
  wanted.ranks = ranks;
  wanted.bytes = bytes;
  wanted.over_messages = first_over_messages(ranks, bytes);
  return candidates(wanted);
}

TEST(Candidates, WhereUdpCannotGoTinyBlocksAreCombinedFirst) {
  EXPECT_EQ(first_over_messages(32, 8), kBruck);
  EXPECT_EQ(first_over_messages(32, 256), kBruck);
  EXPECT_EQ(first_over_messages(32, 257), kRounds);
  EXPECT_EQ(first_over_messages(4, 8), kRounds) << "few messages are saved";
  const auto tiny = ways_over_messages(32, 8);
  EXPECT_EQ(tiny[0], kBruck);
  EXPECT_EQ(tiny[1], kNativeWay);
  EXPECT_THAT(tiny, Contains(kRounds));
  EXPECT_EQ(std::count(tiny.begin(), tiny.end(), kBruck), 1);
  EXPECT_EQ(ways_over_messages(32, 4096)[0], kRounds);
}

TEST(Candidates, WhereUdpCannotGoEveryOrderOfALibraryIsTried) {
  EXPECT_THAT(ways_over_messages(32, 4096), Contains(kExchange));
  EXPECT_THAT(ways_over_messages(24, 4096), Not(Contains(kExchange))) << "no power of two";
  EXPECT_THAT(ways_over_messages(64, 4096), Contains(kMany));
  EXPECT_THAT(ways_over_messages(32, 4096), Not(Contains(kMany))) << "all at once is the same";
  EXPECT_THAT(ways_over_messages(32, 1 << 20),
              ElementsAre(kRounds, kNativeWay, kPairwise, kExchange));
  EXPECT_EQ(ways_over_messages(32, 10'000).back(), kBruck) << "where queues are short it wins";
  EXPECT_THAT(ways(32, 4096), Not(Contains(kExchange))) << "with UDP, trials cost more than that";
}

std::vector<Way> ways_with_library(std::uint32_t ranks, std::uint64_t bytes,
                                   std::initializer_list<LibraryAlgorithm> library) {
  CandidatesWanted wanted;
  wanted.ranks = ranks;
  wanted.bytes = bytes;
  wanted.over_messages = first_over_messages(ranks, bytes);
  for (const LibraryAlgorithm algorithm : library) wanted.library.add(algorithm);
  return candidates(wanted);
}

constexpr Way told(LibraryAlgorithm algorithm) { return library_way(algorithm); }
constexpr Way ours(plan::MessageOrder order) { return message_way(order); }

TEST(Candidates, WhatOpenMpiMayBeToldStandsForTheSameOrderOfOurs) {
  using enum LibraryAlgorithm;
  const auto all =
      ways_with_library(32, 4096, {kLinear, kPairwise, LibraryAlgorithm::kBruck, kLinearSync});
  EXPECT_THAT(all,
              ElementsAre(kRounds, kNativeWay, told(kPairwise), told(kLinearSync), told(kLinear),
                          told(LibraryAlgorithm::kBruck), ours(plan::MessageOrder::kExchange),
                          ours(plan::MessageOrder::kFew)));
  EXPECT_EQ(ways_with_library(32, 8, {LibraryAlgorithm::kBruck})[3],
            told(LibraryAlgorithm::kBruck));
}

TEST(Candidates, WhatMpichMayBeToldStandsForTheSameOrderOfOurs) {
  using enum LibraryAlgorithm;
  const auto pairs = ways_with_library(32, 4096, {kPairwise, kScattered});
  EXPECT_THAT(pairs, Contains(ours(plan::MessageOrder::kPairwise)));
  EXPECT_THAT(pairs, Not(Contains(ours(plan::MessageOrder::kExchange)))) << "MPICH does so";
  EXPECT_THAT(pairs, Not(Contains(ours(plan::MessageOrder::kAll)))) << "its window is as large";
  const auto shift = ways_with_library(36, 4096, {kPairwise, kScattered});
  EXPECT_THAT(shift, Not(Contains(ours(plan::MessageOrder::kPairwise))));
  EXPECT_THAT(shift, Not(Contains(ours(plan::MessageOrder::kMany))));
  EXPECT_THAT(shift, Contains(ours(plan::MessageOrder::kAll)));
}

TEST(Candidates, RoundsOverMessagesOpenConnections) {
  EXPECT_TRUE(opens_connections(kRounds, 8, Transport::kMpi));
  EXPECT_FALSE(opens_connections(kRounds, 8, Transport::kUdp));
  EXPECT_FALSE(opens_connections(kRounds, 4096, Transport::kMpi)) << "the library has done that";
  EXPECT_FALSE(opens_connections(kBruck, 8, Transport::kMpi));
}

TEST(Candidates, RoundsAndPhasesOverUdpHaveOneTransport) {
  EXPECT_EQ(transport_of(kRounds, Transport::kUdp), Transport::kUdp);
  EXPECT_EQ(transport_of(phased_way(1), Transport::kUdp), Transport::kUdp);
  EXPECT_EQ(transport_of(kNativeWay, Transport::kUdp), Transport::kMpi);
  EXPECT_EQ(transport_of(kPairwise, Transport::kUdp), Transport::kMpi);
}

TEST(Candidates, RoundsOverMessagesHaveTheLibrarysTransport) {
  EXPECT_EQ(transport_of(kRounds, Transport::kMpi), Transport::kMpi);
  EXPECT_EQ(transport_of(kNativeWay, Transport::kMpi), Transport::kMpi);
  EXPECT_EQ(transport_of(kBruck, Transport::kMpi), Transport::kMpi);
}

TEST(Candidates, MessageOrdersHaveKeysOfTheirOwn) {
  std::set<std::string_view> keys;
  for (std::size_t i = 0; i < plan::kMessageOrders; ++i) {
    const auto order = static_cast<plan::MessageOrder>(i);
    EXPECT_TRUE(keys.insert(key_of(order)).second) << key_of(order);
    EXPECT_EQ(key_of(order).find(' '), std::string_view::npos);
  }
}

TEST(Candidates, OnesThatCombineBlocks) {
  EXPECT_TRUE(combines(phased_way(0)));
  EXPECT_TRUE(combines(kNativeWay)) << "it may";
  EXPECT_TRUE(combines(library_way(LibraryAlgorithm::kBruck)));
  EXPECT_FALSE(combines(library_way(LibraryAlgorithm::kPairwise)));
  EXPECT_TRUE(combines(message_way(plan::MessageOrder::kBruck)));
  EXPECT_FALSE(combines(Way{}));
  for (const auto order :
       {plan::MessageOrder::kPairwise, plan::MessageOrder::kFew, plan::MessageOrder::kAll}) {
    EXPECT_FALSE(combines(message_way(order)));
  }
}

}  // namespace
}  // namespace alm::tuning

#include "model/stock_schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <utility>

namespace alm::model {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

StockSchedule schedule(std::string_view name, std::uint32_t ranks) {
  auto made = StockSchedule::make(name, ranks);
  EXPECT_TRUE(made) << name;
  return std::move(made).value();
}

std::vector<std::uint32_t> partners(const StockRound& round) {
  std::vector<std::uint32_t> out;
  for (const auto& send : round.sends) out.push_back(send.to);
  return out;
}

TEST(StockSchedule, EveryPairExchangesOnceAndReceivesWhatIsSent) {
  for (const char* name : {"openmpi:linear", "openmpi:linear-sync:reqs=3", "openmpi:pairwise",
                           "mpich:scattered", "mpich:scattered:throttle=3", "mpich:pairwise"}) {
    for (const std::uint32_t ranks : {2u, 3u, 8u, 13u, 40u}) {
      const StockSchedule made = schedule(name, ranks);
      std::set<std::pair<std::uint32_t, std::uint32_t>> sent, received;
      for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        for (std::uint32_t number = 0; number < made.rounds(); ++number) {
          const StockRound round = made.round(rank, number);
          for (const auto& send : round.sends) EXPECT_TRUE(sent.emplace(rank, send.to).second);
          for (const auto from : round.receives) EXPECT_TRUE(received.emplace(from, rank).second);
        }
      }
      EXPECT_EQ(sent.size(), std::size_t{ranks} * (ranks - 1)) << name;
      EXPECT_EQ(sent, received) << name;
    }
  }
}

TEST(StockSchedule, OrdersAreThoseOfTheLibraries) {
  EXPECT_THAT(partners(schedule("openmpi:linear", 5).round(2, 0)), ElementsAre(1, 0, 4, 3));
  EXPECT_THAT(schedule("openmpi:linear", 5).round(2, 0).receives, ElementsAre(3, 4, 0, 1));
  EXPECT_THAT(partners(schedule("openmpi:pairwise", 5).round(2, 1)), ElementsAre(4));
  EXPECT_THAT(partners(schedule("mpich:pairwise", 8).round(2, 2)), ElementsAre(1));
  EXPECT_THAT(partners(schedule("mpich:pairwise", 6).round(2, 2)), ElementsAre(5));
  // The rank itself counts in the first batch.
  const StockSchedule batches = schedule("mpich:scattered:throttle=3", 8);
  EXPECT_EQ(batches.rounds(), 3u);
  EXPECT_THAT(partners(batches.round(0, 0)), ElementsAre(7, 6));
  EXPECT_THAT(partners(batches.round(0, 1)), ElementsAre(5, 4, 3));
  EXPECT_EQ(schedule("mpich:scattered", 40).rounds(), 2u);
}

TEST(StockSchedule, BruckCarriesEachBlockOverItsDigits) {
  const StockSchedule binary = schedule("openmpi:bruck", 8);
  EXPECT_EQ(binary.rounds(), 3u);
  EXPECT_THAT(partners(binary.round(3, 2)), ElementsAre(7));
  for (std::uint32_t number = 0; number < 3; ++number) {
    EXPECT_EQ(binary.round(0, number).sends.front().blocks, 4u);
  }
  const StockSchedule ternary = schedule("mpich:bruck:k=3", 9);
  EXPECT_EQ(ternary.rounds(), 2u);
  EXPECT_THAT(partners(ternary.round(0, 1)), ElementsAre(3, 6));
  EXPECT_TRUE(ternary.combines());
}

TEST(StockSchedule, AWindowThatHoldsEverythingIsNone) {
  EXPECT_EQ(schedule("openmpi:linear-sync", 8).window(), 0u);
  EXPECT_EQ(schedule("openmpi:linear-sync:reqs=7", 8).window(), 0u);
  EXPECT_EQ(schedule("openmpi:linear-sync:reqs=4", 8).window(), 4u);
}

TEST(StockSchedule, AQueryAsksEveryRankAndSendsNothingUnasked) {
  const StockSchedule made = schedule("query", 4);
  EXPECT_TRUE(made.asks());
  EXPECT_EQ(made.rounds(), 1u);
  EXPECT_THAT(made.round(2, 0).receives, ElementsAre(0, 1, 3));
  EXPECT_TRUE(made.round(2, 0).sends.empty());
}

TEST(StockSchedule, OtherNamesAreRefused) {
  for (const char* name : {"openmpi", "mpich", "openmpi:ring", "openmpi:pairwise:reqs=3",
                           "openmpi:linear-sync:reqs=0", "mpich:scattered:throttle=",
                           "mpich:scattered:throttle=x", "mpich:bruck:k=1", "direct", ""}) {
    const auto made = StockSchedule::make(name, 8);
    ASSERT_FALSE(made) << name;
    EXPECT_THAT(made.error().message, HasSubstr("openmpi:linear-sync[:reqs=N]"));
  }
}

}  // namespace
}  // namespace alm::model

#include "clocks/train_limit.h"

#include <gmock/gmock.h>

#include <vector>

namespace alm::clocks {
namespace {

constexpr std::uint32_t kWanted = 12;

// Two packets of a train are lost. Returns how long trains are then.
std::uint32_t lose(TrainLimit& trains, std::uint32_t first = 20) {
  trains.lost(3, first, 100);
  return trains.lost(3, first + 1, 100);
}

TEST(TrainLimit, AnExchangeThatLosesPacketsOfATrainHalvesItsTrainsOnce) {
  TrainLimit trains;
  EXPECT_EQ(trains.begin(kWanted), 12u);
  EXPECT_EQ(lose(trains), 6u);
  EXPECT_EQ(lose(trains, 30), 6u);
  trains.end();
  EXPECT_EQ(trains.begin(kWanted), 6u);
  EXPECT_EQ(lose(trains), 3u);
  trains.end();
  EXPECT_EQ(trains.begin(2), 2u) << "shorter ones of another exchange";
}

TEST(TrainLimit, PacketsThatAreLostAloneSayNothing) {
  TrainLimit trains;
  trains.begin(kWanted);
  for (std::uint32_t i = 0; i < 10; ++i) {
    EXPECT_EQ(trains.lost(i, 5, 100), 12u) << "of other peers";
    EXPECT_EQ(trains.lost(99, 12 * i, 100), 12u) << "of other trains";
  }
}

TEST(TrainLimit, FewLossesOfManyPacketsSayNothing) {
  TrainLimit trains;
  trains.begin(kWanted);
  for (std::uint32_t packet = 0; packet < 10; ++packet) {
    EXPECT_EQ(trains.lost(3, packet, 10'000), 12u);
  }
  trains.end();
  EXPECT_EQ(trains.begin(kWanted), 12u);
}

// Trains of 12 of which those of more than `good` packets lose some.
std::vector<std::uint32_t> lengths(std::uint32_t good, int exchanges) {
  TrainLimit trains;
  std::vector<std::uint32_t> found;
  for (int i = 0; i < exchanges; ++i) {
    const std::uint32_t train = trains.begin(kWanted);
    if (found.empty() || found.back() != train) found.push_back(train);
    if (train > good) lose(trains);
    trains.end();
  }
  return found;
}

TEST(TrainLimit, LongerTrainsAreTriedEverMoreRarely) {
  using testing::ElementsAre;
  EXPECT_THAT(lengths(3, 16), ElementsAre(12, 6, 3));
  EXPECT_THAT(lengths(3, 10'000).size(), testing::Lt(30u));
  EXPECT_THAT(lengths(3, 10'000), testing::Contains(6).Times(testing::Gt(3)));
  EXPECT_THAT(lengths(12, 10'000), ElementsAre(12));
}

TEST(TrainLimit, WhatLostPacketsOnceIsForgotten) {
  TrainLimit trains;
  trains.begin(kWanted);
  lose(trains);
  trains.end();
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(trains.begin(kWanted), 6u);
    trains.end();
  }
  EXPECT_EQ(trains.begin(kWanted), 12u);
}

}  // namespace
}  // namespace alm::clocks

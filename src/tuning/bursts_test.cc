#include "tuning/bursts.h"

#include <gtest/gtest.h>

#include <vector>

namespace alm::tuning {
namespace {

using Rules = TrialRules;

void burst(Bursts& bursts, bool held) {
  bursts.begin(Rules::kFirstBurst);
  EXPECT_TRUE(bursts.to_agree());
  bursts.agree(held);
  EXPECT_FALSE(bursts.to_agree());
}

TEST(Bursts, ComeAfterSomeCalls) {
  const Bursts bursts;
  EXPECT_FALSE(bursts.due(Rules::kFirstBurst - 1));
  EXPECT_TRUE(bursts.due(Rules::kFirstBurst));
  EXPECT_FALSE(bursts.to_agree());
}

TEST(Bursts, OneThatLosesNothingIsEnough) {
  Bursts bursts;
  burst(bursts, true);
  EXPECT_TRUE(bursts.held());
}

TEST(Bursts, WherePacketsAreLostTheNextComesMuchLater) {
  Bursts bursts;
  burst(bursts, false);
  EXPECT_FALSE(bursts.held());
  EXPECT_FALSE(bursts.due(Rules::kFirstBurst * Rules::kBurstGrowth - 1));
  EXPECT_TRUE(bursts.due(Rules::kFirstBurst * Rules::kBurstGrowth));
}

TEST(Bursts, AfterOneThatCameLateTheNextComesMuchLaterToo) {
  Bursts bursts;
  bursts.begin(1500);
  bursts.agree(false);
  EXPECT_FALSE(bursts.due(1501));
  EXPECT_TRUE(bursts.due(1500 * Rules::kBurstGrowth));
}

TEST(Bursts, TellsWhatTheLatestHasLost) {
  const auto lost = [](const std::vector<wire::FillCount>& all) { return lost_of(all); };
  EXPECT_EQ(lost({{2, 14, 2, 14}, {2, 14, 2, 14}, {}}), 0u);
  EXPECT_EQ(lost({{2, 14, 2, 13}, {2, 14, 2, 13}}), 2u);
  EXPECT_EQ(lost({{2, 14, 1, 14}, {2, 14, 2, 14}}), 14u) << "nothing of the latest has come";
  EXPECT_EQ(lost({{2, 14, 2, 20}, {2, 14, 2, 13}}), 1u) << "no rank makes up for another";
  EXPECT_EQ(lost({{2, 14, 2, 13}, {2, 14, 2, 14}, {0, 0, 0, 9}}), 1u);
  EXPECT_EQ(lost({{1, 0, 0, 0}, {1, 0, 0, 0}, {}}), std::nullopt) << "none could be sent";
}

}  // namespace
}  // namespace alm::tuning

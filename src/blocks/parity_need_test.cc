#include "blocks/parity_need.h"

#include <gtest/gtest.h>

namespace alm::blocks {
namespace {

// 46 packets a block to 16 far peers, of 24 ranks, over a link that loses one packet in a hundred.
ParityCosts costs() {
  return {.lost = 0.01, .exposed = 18, .blocks = 384, .parity = 0.6, .missed = 10};
}

TEST(ParityNeed, MoreLostIsTheTailOfTheBinomial) {
  EXPECT_NEAR(more_lost(0.01, 10, 0), 1 - 0.9043821, 1e-6);
  EXPECT_NEAR(more_lost(0.5, 4, 2), 5.0 / 16, 1e-12);
  EXPECT_NEAR(more_lost(0.5, 4, 4), 0, 1e-12);
}

TEST(ParityNeed, WithoutLossesThereIsNone) {
  ParityCosts none = costs();
  none.lost = 0;
  EXPECT_EQ(parities_needed(none), 0u);
}

TEST(ParityNeed, ALongRoundTripIsWorthSome) {
  EXPECT_EQ(parities_needed(costs()), 3u);
  ParityCosts rare = costs();
  rare.lost = 1e-4;
  EXPECT_EQ(parities_needed(rare), 1u);
}

TEST(ParityNeed, AShortRoundTripIsWorthNone) {
  ParityCosts near = costs();
  near.missed = 0.3;
  EXPECT_EQ(parities_needed(near), 0u);
}

}  // namespace
}  // namespace alm::blocks

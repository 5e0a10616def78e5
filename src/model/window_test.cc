#include "model/window.h"

#include <gtest/gtest.h>

namespace alm::model {
namespace {

// 000 Figure 3 and section 4 (reference section 3).
TEST(Window, IsThatOfTheWorkedFigures) {
  EXPECT_NEAR(packets_per_step(16, 4), 3.2, 1e-12);
  EXPECT_EQ(loss_onset_window(30, packets_per_step(16, 4)), 9u);
  EXPECT_NEAR(packets_per_step(16, 8), 4.27, 0.005);
  EXPECT_EQ(loss_onset_window(45, packets_per_step(16, 8)), 10u);
}

TEST(Window, AcknowledgementsHalveIt) {
  EXPECT_EQ(loss_onset_window(45, packets_per_step(16, 8), true), 5u);
  EXPECT_EQ(loss_onset_window(45, packets_per_step(24, 8), true), 4u);
  EXPECT_EQ(loss_onset_window(45, packets_per_step(32, 8), true), 3u);
  // The paper lists 5 here, which is not the floor of 4.79.
  EXPECT_EQ(loss_onset_window(45, packets_per_step(24, 6), true), 4u);
}

TEST(Window, OneSwitchCountsItsHostPort) {
  EXPECT_EQ(packets_per_step(16, 16), 1);
  EXPECT_EQ(loss_onset_window(43, 1), 43u);
  EXPECT_EQ(loss_onset_window(43, 1, true), 21u);
  EXPECT_EQ(loss_onset_window(2, 5), 1u);
}

TEST(Window, TheLeastKeepsAHostBusy) {
  EXPECT_EQ(least_window(154e-6, 123e-6), 2u);
  EXPECT_EQ(least_window(10e-6, 123e-6), 1u);
}

}  // namespace
}  // namespace alm::model

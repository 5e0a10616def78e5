#include "mpi/trial.h"

#include <gtest/gtest.h>

namespace alm::mpi {
namespace {

constexpr base::Nanos kMs = base::kMillisecond;

// One call, this rank being the slowest.
void call(Trial& trial, base::Nanos ours, base::Nanos native) {
  trial.took(trial.way() == Way::kOurs ? ours : native);
  if (trial.due()) trial.agree(std::vector(trial.times()));
}

void calls(Trial& trial, int count, base::Nanos ours, base::Nanos native) {
  for (int i = 0; i < count; ++i) call(trial, ours, native);
}

TEST(Trial, TakesBothWaysThreeTimesThenTheFaster) {
  Trial trial;
  for (int pair = 0; pair < 3; ++pair) {
    EXPECT_FALSE(trial.decided());
    EXPECT_EQ(trial.way(), Way::kOurs);
    call(trial, 5 * kMs, 4 * kMs);
    EXPECT_EQ(trial.way(), Way::kNative);
    call(trial, 5 * kMs, 4 * kMs);
  }
  EXPECT_TRUE(trial.decided());
  EXPECT_EQ(trial.way(), Way::kNative);
  EXPECT_EQ(trial.best(Way::kOurs), 5 * kMs);
  EXPECT_EQ(trial.best(Way::kNative), 4 * kMs);
}

TEST(Trial, KeepsOursUnlessNativeIsClearlyFaster) {
  Trial trial;
  calls(trial, 6, 100, 97);
  EXPECT_EQ(trial.way(), Way::kOurs);
}

TEST(Trial, TheFirstNativeCallMayBeSlow) {
  Trial trial;
  call(trial, 2 * kMs, 0);
  call(trial, 0, 15 * kMs);  // opens connections
  calls(trial, 4, 2 * kMs, 1 * kMs);
  EXPECT_EQ(trial.way(), Way::kNative);
}

TEST(Trial, OneDearSightingIsEnough) {
  Trial trial;
  calls(trial, 2, 267 * kMs, 1380 * kMs);
  EXPECT_TRUE(trial.decided());
  EXPECT_EQ(trial.way(), Way::kOurs);
}

TEST(Trial, AgreesOnTheSlowestRank) {
  Trial trial;
  for (int pair = 0; pair < 3; ++pair) {
    trial.took(1 * kMs);
    trial.took(2 * kMs);
    ASSERT_TRUE(trial.due());
    trial.agree({4 * kMs, 3 * kMs});
  }
  EXPECT_EQ(trial.way(), Way::kNative);
}

TEST(Trial, DriftReopensIt) {
  Trial trial;
  calls(trial, 6, 100, 200);
  calls(trial, 64, 110, 200);
  EXPECT_EQ(trial.reopened(), 0u);
  calls(trial, 256 - 64, 300, 200);
  EXPECT_EQ(trial.reopened(), 1u);
  calls(trial, 6, 300, 200);
  EXPECT_EQ(trial.way(), Way::kNative);
}

TEST(Trial, CostsLittleOverTwoHundredCalls) {
  // 10 KB where the native way is five times as slow, connections not yet open.
  Trial trial;
  constexpr base::Nanos kOurs = 267 * kMs;
  base::Nanos total = 0;
  for (int i = 0; i < 200; ++i) {
    const base::Nanos native = 5 * kOurs;
    total += trial.way() == Way::kOurs ? kOurs : native;
    call(trial, kOurs, native);
  }
  EXPECT_LE(static_cast<double>(total), 1.05 * 200 * static_cast<double>(kOurs));
}

}  // namespace
}  // namespace alm::mpi

#include "job/log.h"

#include <gtest/gtest.h>

namespace alm::job {
namespace {

using Clock = std::chrono::steady_clock;

TEST(Log, BeforeAnAbortTheLatestLineHasTimeToGetOut) {
  testing::internal::CaptureStderr();
  const auto begin = Clock::now();
  Log("rank 3 (h3)", "warning").error("it ends");
  await_forwarding();
  EXPECT_GE(Clock::now() - begin, kForwarding);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "allemande: rank 3 (h3): error: it ends\n");
}

TEST(Log, AJobThatGoesOnWaitsForNothing) {
  const auto begin = Clock::now();
  testing::internal::CaptureStderr();
  for (int line = 0; line < 100; ++line) Log("", "info").error("no end");
  testing::internal::GetCapturedStderr();
  EXPECT_LT(Clock::now() - begin, 100 * kForwarding);
}

}  // namespace
}  // namespace alm::job

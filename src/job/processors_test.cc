#include "job/processors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace alm::job {
namespace {

using testing::HasSubstr;
using testing::Not;

// Calls that take 20 ms each, of which the process waits for a part.
bool found_after(ProcessorWait& wait, int calls, double part) {
  bool found = false;
  for (int call = 0; call < calls; ++call) {
    const base::Nanos now = (1 + call) * 20 * base::kMillisecond;
    found = wait.found(now, [&] {
      return static_cast<base::Nanos>(part * static_cast<double>(now)) + base::kSecond;
    }) || found;
  }
  return found;
}

TEST(Processors, WhoWaitsForHalfOfTheTimeSaysSoOnce) {
  ProcessorWait wait;
  EXPECT_FALSE(found_after(wait, 20, 0.7)) << "the first calls are cold";
  ProcessorWait crowded;
  EXPECT_TRUE(found_after(crowded, 30, 0.7));
  EXPECT_EQ(crowded.percent(), 70u);
  EXPECT_TRUE(crowded.over());
  EXPECT_FALSE(found_after(crowded, 30, 0.7));
  ProcessorWait alone;
  EXPECT_FALSE(found_after(alone, 30, 0.3));
  EXPECT_TRUE(alone.over());
}

TEST(Processors, AKernelThatDoesNotTellIsNotAskedAgain) {
  ProcessorWait wait;
  EXPECT_FALSE(wait.found(base::kSecond, [] { return std::nullopt; }));
  EXPECT_TRUE(wait.over());
}

TEST(Processors, TheSecondWordIsTheTimeWaited) {
  EXPECT_EQ(waited_in("34510 8721 12\n"), 8721);
  EXPECT_EQ(waited_in("34510"), std::nullopt);
  EXPECT_EQ(waited_in(""), std::nullopt);
}

TEST(Processors, ThisProcessRuns) {
  const auto running = running_processes();
  ASSERT_FALSE(running.empty());
  for (std::size_t i = 1; i < running.size(); ++i) {
    EXPECT_GE(running[i - 1].second, running[i].second);
  }
}

TEST(Processors, ALineSaysWhoHoldsThem) {
  const auto text =
      crowded_text(71, 2, {{"alltoall_bench", 32}, {"sh", 1}}, "MPICH Version: 5.0.2");
  EXPECT_THAT(text, HasSubstr("71 % of the time: 2 processors, and 33 processes"));
  EXPECT_THAT(text, HasSubstr("32 of them alltoall_bench"));
  EXPECT_THAT(text, HasSubstr("MPICH poll"));
  EXPECT_THAT(crowded_text(71, 2, {}, "Open MPI v5.0.11"), Not(HasSubstr("poll")));
}

}  // namespace
}  // namespace alm::job

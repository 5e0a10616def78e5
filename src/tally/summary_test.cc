#include "tally/summary.h"

#include <gmock/gmock.h>

#include <array>
#include <string>

namespace alm::tally {
namespace {

using ::testing::HasSubstr;

std::string summary_text(const Tally& tally, const Subject& subject) {
  std::string text(kSummaryBytesMax, '\0');
  text.resize(write_summary(tally, subject, text));
  return text;
}

TEST(Summary, TellsCallsTimesWaysAndTheBound) {
  Tally tally;
  tally.begin(base::kSecond);
  const WayId rounds = tally.way("sync-shuffle over UDP");
  for (int i = 0; i < 100; ++i) {
    tally.note(Function::kAlltoall, 8192, {rounds, 2 * base::kMillisecond}, 4 * base::kMillisecond);
  }
  tally.note(Function::kAlltoallv, 100, {}, base::kMillisecond);
  const std::string text = summary_text(tally, {0, 32, "at MPI_Finalize", 3 * base::kSecond});
  EXPECT_THAT(text, HasSubstr("summary of rank 0 of 32, at MPI_Finalize: 2 s after MPI_Init"));
  EXPECT_THAT(text, HasSubstr("101 exchanges in 401 ms (20.1 %)"));
  EXPECT_THAT(text, HasSubstr("8192-16383       100   400 ms"));
  EXPECT_THAT(text, HasSubstr("50.0 %  sync-shuffle over UDP"));
  EXPECT_THAT(text, HasSubstr("-  the library's own"));
}

TEST(Summary, OfAProgramWithoutExchangesIsOneLine) {
  Tally tally;
  tally.begin(0);
  EXPECT_EQ(summary_text(tally, {0, 4, "at MPI_Finalize", 1500 * base::kMillisecond}),
            "allemande: summary of rank 0 of 4, at MPI_Finalize: 1.5 s after MPI_Init, 0 "
            "exchanges\n");
}

TEST(Summary, TimesThatAreNotKnownAreNotShown) {
  Tally tally;
  tally.begin(0);
  tally.note(Function::kIalltoall, 8, {}, -1);
  EXPECT_THAT(summary_text(tally, {0, 4, "at MPI_Finalize", base::kSecond}),
              HasSubstr("8-15         1        -        -        -        -"));
}

TEST(Summary, WhatDoesNotFitIsLeftOut) {
  Tally tally;
  tally.begin(0);
  tally.note(Function::kAlltoall, 8, {}, 5);
  std::array<char, 40> out;
  EXPECT_EQ(write_summary(tally, {0, 4, "at MPI_Finalize", 1}, out), out.size());
}

}  // namespace
}  // namespace alm::tally

#include "tally/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace alm::tally {
namespace {

TEST(Histogram, QuantilesAreKnownToThreePercent) {
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> times(14, 2);  // about a millisecond, over six decades
  Histogram histogram;
  std::vector<base::Nanos> all;
  for (int i = 0; i < 20'000; ++i) {
    all.push_back(static_cast<base::Nanos>(times(random)) + 256);
    histogram.add(all.back());
  }
  std::sort(all.begin(), all.end());
  for (const double part : {0.5, 0.9, 0.99}) {
    const double rank = part * static_cast<double>(all.size());
    const auto exact = static_cast<double>(all[static_cast<std::size_t>(rank) - 1]);
    EXPECT_NEAR(static_cast<double>(histogram.quantile(part)) / exact, 1, 0.032) << part;
  }
}

TEST(Histogram, NoTimesHaveNoQuantile) { EXPECT_EQ(Histogram().quantile(0.5), 0); }

TEST(Histogram, NoQuantileExceedsTheLongestTime) {
  Histogram histogram;
  histogram.add(1'000'001);
  EXPECT_EQ(histogram.longest(), 1'000'001);
  EXPECT_LE(histogram.quantile(0.99), 1'000'001);
}

TEST(Histogram, TheShortestAndTheLongestTimesFindAPlace) {
  Histogram histogram;
  histogram.add(0);
  histogram.add(1);
  histogram.add(base::kNever);
  EXPECT_LT(histogram.quantile(0.5), 256);
  EXPECT_GT(histogram.quantile(1.0), base::Nanos{4'000} * base::kSecond);
}

}  // namespace
}  // namespace alm::tally

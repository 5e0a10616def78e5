#include "clocks/idle_times.h"

#include <gtest/gtest.h>

#include <vector>

namespace alm::clocks {
namespace {

TEST(IdleTimes, TheFarthestHostCounts) {
  // A full packet takes 400 longer, a quarter of it for its longer answer.
  const IdleTimes times = idle_times(std::vector<base::Nanos>{0, 100, 300, 200},
                                     std::vector<base::Nanos>{0, 500, 700, 600}, 0.25);
  EXPECT_EQ(times.round_trip, 600);
  EXPECT_EQ(times.frame, 150);
}

TEST(IdleTimes, WhereOneHostIsSilentItMayBeTheFarthest) {
  const std::vector<base::Nanos> full{0, 500, 0, 600};
  const IdleTimes times = idle_times(std::vector<base::Nanos>{0, 100, 300, 200}, full, 0.25);
  EXPECT_EQ(times.round_trip, 0);
  EXPECT_EQ(times.frame, 150);
  EXPECT_EQ(idle_times(full, std::vector<base::Nanos>(4, 0), 0.25).frame, 0);
}

}  // namespace
}  // namespace alm::clocks

#include "ways/plan_settings.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace alm::ways {
namespace {

TEST(PlanSettings, AsManyLeadersAsAHostsLinkMayAskFor) {
  auto options = base::load_options({}).value();
  const auto placement = plan::Placement::of(
      std::vector<std::string_view>{"a", "a", "a", "a", "b", "b", "b", "b", "b", "c", "c", "c"});
  plan::Tuning tuning;
  const auto wanted = [&](double rate_mbit_s) {
    tuning.host_rate_mbit_s = rate_mbit_s;
    return leaders_wanted(options, placement, &tuning);
  };
  EXPECT_EQ(leaders_wanted(options, placement, nullptr), 1u);
  EXPECT_EQ(wanted(1000), 1u);
  EXPECT_EQ(wanted(5000), 1u);
  EXPECT_EQ(wanted(10'000), 2u);
  EXPECT_EQ(wanted(100'000), 3u);  // ranks of the third host
  // Nothing would tell whether they are of use.
  ASSERT_TRUE(base::set_option(options, "trials=off"));
  EXPECT_EQ(wanted(100'000), 1u);
  ASSERT_TRUE(base::set_option(options, "leaders_per_host=2"));
  EXPECT_EQ(wanted(1000), 2u);
  ASSERT_TRUE(base::set_option(options, "leaders_per_host=8"));
  EXPECT_EQ(leaders_wanted(options, placement, nullptr), 3u);
}

}  // namespace
}  // namespace alm::ways

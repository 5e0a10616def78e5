#include <gtest/gtest.h>

#include "plan/plan.h"

namespace alm::plan {
namespace {
TEST(Tune, Placeholder) { EXPECT_TRUE(make_plan({.ranks = 2, .self = {0}, .group_of = {}}).ok()); }
}  // namespace
}  // namespace alm::plan

#include "plan/plan.h"

#include <gtest/gtest.h>

namespace alm::plan {
namespace {
TEST(Plan, Placeholder) { EXPECT_TRUE(make_plan({.ranks = 2, .self = {0}, .group_of = {}}).ok()); }
}  // namespace
}  // namespace alm::plan

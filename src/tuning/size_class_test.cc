#include "tuning/size_class.h"

#include <gtest/gtest.h>

#include <map>

namespace alm::tuning {
namespace {

TEST(SizeClass, HoldsTheSizesOfOneBitWidth) {
  EXPECT_EQ(SizeClass(1).least(), 1u);
  EXPECT_EQ(SizeClass(1).most(), 1u);
  EXPECT_EQ(SizeClass(300).least(), 256u);
  EXPECT_EQ(SizeClass(300).most(), 511u);
  EXPECT_EQ(SizeClass(256), SizeClass(511));
  EXPECT_NE(SizeClass(511), SizeClass(512));
}

TEST(SizeClass, TheLargestSizeHasOneToo) {
  const SizeClass largest(~std::uint64_t{0});
  EXPECT_EQ(largest.least(), std::uint64_t{1} << 63);
  EXPECT_EQ(largest.most(), ~std::uint64_t{0});
}

TEST(SizeClass, ClassesAreOrderedBySize) {
  EXPECT_LT(SizeClass(7), SizeClass(8));
  const std::map<SizeClass, int> known = {{SizeClass(5), 1}, {SizeClass(9), 2}};
  EXPECT_EQ(known.at(SizeClass(4)), 1);
  EXPECT_EQ(known.count(SizeClass(16)), 0u);
}

}  // namespace
}  // namespace alm::tuning

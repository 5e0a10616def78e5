#include "clocks/chance.h"

#include <gtest/gtest.h>

namespace alm::clocks {
namespace {

// Packets of which one in `every` is lost.
void pass(Chance& chance, std::uint32_t window, int packets, int every, bool soon = true) {
  for (int i = 1; i <= packets; ++i) {
    chance.sent(window);
    if (i % every > 0) continue;
    chance.trip(soon);
    chance.lost(window);
  }
}

TEST(Chance, SmallWindowsThatLoseAsManyShowIt) {
  Chance chance;
  pass(chance, 16, 800, 100);
  EXPECT_FALSE(chance.shown());
  pass(chance, 2, 700, 100);
  EXPECT_FALSE(chance.shown());  // seven losses may be chance themselves
  pass(chance, 2, 100, 100);
  EXPECT_TRUE(chance.shown());
}

TEST(Chance, SmallWindowsThatLoseLessDoNot) {
  Chance chance;
  pass(chance, 16, 800, 50);
  pass(chance, 2, 8000, 100);
  EXPECT_FALSE(chance.shown());
}

TEST(Chance, NorDoesItWherePacketsWait) {
  Chance chance;
  pass(chance, 16, 800, 100, false);
  pass(chance, 2, 400, 100, false);
  pass(chance, 2, 400, 100);
  EXPECT_FALSE(chance.shown());
  pass(chance, 2, 500, 100);
  EXPECT_TRUE(chance.shown());
}

TEST(Chance, OneLossOfTheLargestWindowSaysNothing) {
  Chance chance;
  pass(chance, 2, 900, 100);
  pass(chance, 16, 10, 10);
  EXPECT_TRUE(chance.shown());
  pass(chance, 16, 10, 10);
  EXPECT_FALSE(chance.shown());  // but one in ten does
}

TEST(Chance, OldLossesAreForgotten) {
  Chance chance;
  pass(chance, 2, 1600, 100);
  pass(chance, 16, 6400, 100);
  EXPECT_TRUE(chance.shown());
  pass(chance, 16, 640, 10);
  EXPECT_FALSE(chance.shown());
}

}  // namespace
}  // namespace alm::clocks

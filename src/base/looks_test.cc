#include "base/looks.h"

#include <gtest/gtest.h>

namespace alm::base {
namespace {

int taken(Looks& looks, int sleeps, bool news) {
  int count = 0;
  for (int i = 0; i < sleeps; ++i) {
    if (!looks.pay()) continue;
    ++count;
    looks.note(news);
  }
  return count;
}

TEST(Looks, GoOnWhereTheyBringNews) {
  Looks looks;
  EXPECT_EQ(taken(looks, 1000, true), 1000);
}

TEST(Looks, AreLeftOutWhereTheyAreInVain) {
  Looks looks;
  taken(looks, 100, false);
  EXPECT_LE(taken(looks, 1600, false), 100);
}

TEST(Looks, ComeBackWhereTheyBringNewsAgain) {
  Looks looks;
  taken(looks, 1000, false);
  taken(looks, 400, true);
  EXPECT_EQ(taken(looks, 100, true), 100);
}

TEST(Looks, StayWhereMostBringNews) {
  Looks looks;
  int count = 0;
  for (int i = 0; i < 3000; ++i) {
    if (!looks.pay()) continue;
    ++count;
    looks.note(i % 4 != 0);
  }
  EXPECT_GT(count, 2900);
}

}  // namespace
}  // namespace alm::base

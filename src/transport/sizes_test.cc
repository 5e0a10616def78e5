#include "transport/sizes.h"

#include <gtest/gtest.h>

#include <array>

namespace alm::transport {
namespace {

TEST(Sizes, BlocksAreCutIntoPackets) {
  const Sizes sizes(100);
  EXPECT_EQ(sizes.packets_of(0), 0u);
  EXPECT_EQ(sizes.packets_of(100), 1u);
  EXPECT_EQ(sizes.packets_of(101), 2u);
  EXPECT_EQ(sizes.length_of(250, 1), 100u);
  EXPECT_EQ(sizes.length_of(250, 2), 50u);
}

TEST(Sizes, ThoseOfTheTailOutliveTheCallersArrays) {
  Sizes sizes(100);
  ExchangeNumbers numbers;
  std::array<std::uint64_t, 2> send = {10, 20};
  sizes.begin({0, send}, {30, {}});
  numbers.enter();
  EXPECT_EQ(sizes.with(1, 0, numbers), (wire::ProbeBody{0, 20, 30}));
  sizes.end();
  numbers.leave();
  send = {};
  EXPECT_EQ(sizes.with(1, 0, numbers), (wire::ProbeBody{0, 20, 30}));
  sizes.begin({1, {}}, {2, {}});
  numbers.enter();
  EXPECT_EQ(sizes.with(1, 0, numbers), (wire::ProbeBody{0, 20, 30}));
  EXPECT_EQ(sizes.with(1, 1, numbers), (wire::ProbeBody{0, 1, 2}));
  EXPECT_FALSE(sizes.with(1, 2, numbers));
}

}  // namespace
}  // namespace alm::transport

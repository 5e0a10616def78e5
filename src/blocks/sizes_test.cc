#include "blocks/sizes.h"

#include <gtest/gtest.h>

#include <array>

namespace alm::blocks {
namespace {

TEST(Sizes, BlocksAreCutIntoPackets) {
  const Sizes sizes(100);
  EXPECT_EQ(sizes.packets_of(0), 0u);
  EXPECT_EQ(sizes.packets_of(100), 1u);
  EXPECT_EQ(sizes.packets_of(101), 2u);
  EXPECT_EQ(sizes.length_of(250, 1), 100u);
  EXPECT_EQ(sizes.length_of(250, 2), 50u);
}

// Short ends fill queues that full packets do not: 3000 bytes are three packets of 1000.
TEST(Sizes, BlocksWithAShortEndAreCutIntoPacketsAlike) {
  const Sizes sizes(1448);
  for (std::uint32_t packet = 0; packet < 3; ++packet) {
    EXPECT_EQ(sizes.offset_of(3000, packet), 1000u * packet);
    EXPECT_EQ(sizes.length_of(3000, packet), 1000u);
  }
  EXPECT_EQ(sizes.length_of(3001, 0), 1001u);
  EXPECT_EQ(sizes.length_of(3001, 2), 999u);
  EXPECT_EQ(sizes.packet_bytes_of(2 * 1448), 1448u);         // all full
  EXPECT_EQ(sizes.packet_bytes_of(2 * 1448 + 361), 1086u);   // less than a quarter
  EXPECT_EQ(sizes.packet_bytes_of(2 * 1448 + 362), 1448u);   // a quarter
  EXPECT_EQ(sizes.packet_bytes_of(104), 1448u);              // one packet
  EXPECT_EQ(sizes.packet_bytes_of(63 * 1448 + 104), 1427u);  // 64 packets
  EXPECT_EQ(sizes.packet_bytes_of(64 * 1448 + 104), 1448u);
}

// No packet is empty or longer than it may be, whatever the sizes.
TEST(Sizes, ThePacketsOfABlockAreItsBytes) {
  for (const std::uint32_t packet_bytes : {1u, 3u, 10u, 100u, 1448u}) {
    const Sizes sizes(packet_bytes);
    for (std::uint64_t bytes = 1; bytes < 70 * packet_bytes; bytes += 1 + packet_bytes / 50) {
      std::uint64_t sum = 0;
      for (std::uint32_t packet = 0; packet < sizes.packets_of(bytes); ++packet) {
        ASSERT_EQ(sizes.offset_of(bytes, packet), sum);
        ASSERT_GT(sizes.length_of(bytes, packet), 0u);
        ASSERT_LE(sizes.length_of(bytes, packet), packet_bytes);
        sum += sizes.length_of(bytes, packet);
      }
      ASSERT_EQ(sum, bytes);
    }
  }
}

TEST(Sizes, ThoseOfTheTailOutliveTheCallersArrays) {
  Sizes sizes(100);
  wire::ExchangeNumbers numbers;
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
}  // namespace alm::blocks

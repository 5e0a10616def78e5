#include "emulate/frame.h"

#include <gtest/gtest.h>

#include <vector>

#include "emulate/test_frame.h"
#include "sim/random.h"

namespace alm::emulate {
namespace {

TEST(Frame, NamesItsStation) {
  const auto frame = udp_frame({.to_host = 259, .to_number = 2});
  const auto station = destination_of(frame);
  ASSERT_TRUE(station);
  EXPECT_EQ(station->host, 259u);
  EXPECT_EQ(station->number, 2u);
  auto other = frame;
  other[1] = std::byte{0xff};
  EXPECT_FALSE(destination_of(other));
  EXPECT_FALSE(destination_of(std::span(frame).first(13)));
}

TEST(Frame, EntropyIsThatOfTheFiveTuple) {
  const auto frame = udp_frame({});
  const std::uint32_t entropy = entropy_of(frame);
  EXPECT_EQ(entropy_of(udp_frame({.payload = 900})), entropy);
  EXPECT_EQ(entropy_of(udp_frame({.ttl = 3})), entropy);
  EXPECT_NE(entropy_of(udp_frame({.from_port = 4001})), entropy);
  EXPECT_NE(entropy_of(udp_frame({.to_port = 4001})), entropy);
  // Fragments of a datagram go together: the later ones have no ports.
  auto first = frame, later = udp_frame({.from_port = 77});
  first[kEthernetBytes + 6] = std::byte{0x20};
  later[kEthernetBytes + 6] = std::byte{0x20};
  later[kEthernetBytes + 7] = std::byte{0x10};
  EXPECT_EQ(entropy_of(first), entropy_of(later));
}

TEST(Frame, ChecksumHoldsWithALowerTtl) {
  for (std::uint32_t ttl = 1; ttl < 256; ++ttl) {
    auto frame = udp_frame({.ttl = ttl});
    for (const std::uint32_t by : {0u, 1u, 3u}) {
      auto lower = frame;
      lower_ttl(lower, by);
      EXPECT_EQ(ttl_of(lower), ttl - std::min(by, ttl));
      EXPECT_EQ(internet_checksum(std::span(lower).subspan(kEthernetBytes, 20)), 0);
    }
  }
}

TEST(Frame, OnlyWhoKnowsOfCongestionIsToldOfIt) {
  auto frame = udp_frame({});
  const auto plain = frame;
  mark_congestion(frame);
  EXPECT_EQ(frame, plain);
  for (const std::uint8_t codepoint : {std::uint8_t{1}, std::uint8_t{2}, std::uint8_t{3}}) {
    auto knows = plain;
    knows[kEthernetBytes + 1] = std::byte{codepoint};
    knows[kEthernetBytes + 10] = knows[kEthernetBytes + 11] = std::byte{0};
    const std::uint16_t sum = internet_checksum(std::span(knows).subspan(kEthernetBytes, 20));
    knows[kEthernetBytes + 10] = static_cast<std::byte>(sum >> 8);
    knows[kEthernetBytes + 11] = static_cast<std::byte>(sum & 0xff);
    mark_congestion(knows);
    EXPECT_EQ(knows[kEthernetBytes + 1], std::byte{3});
    EXPECT_EQ(internet_checksum(std::span(knows).subspan(kEthernetBytes, 20)), 0);
  }
}

TEST(Frame, AnyBytesAreRead) {
  sim::Random random(5);
  for (int turn = 0; turn < 20000; ++turn) {
    std::vector<std::byte> bytes(random.below(80));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.next());
    if (bytes.size() > 14 && turn % 2 == 0) {
      bytes[12] = std::byte{turn % 4 == 0 ? std::uint8_t{0x08} : std::uint8_t{0x86}};
      bytes[13] = std::byte{turn % 4 == 0 ? std::uint8_t{0x00} : std::uint8_t{0xdd}};
    }
    (void)destination_of(bytes);
    (void)entropy_of(bytes);
    const auto ttl = ttl_of(bytes);
    lower_ttl(bytes, 1);
    mark_congestion(bytes);
    if (ttl && *ttl > 0) {
      EXPECT_EQ(ttl_of(bytes), *ttl - 1);
    }
  }
}

}  // namespace
}  // namespace alm::emulate

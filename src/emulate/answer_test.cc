#include "emulate/answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "emulate/frame.h"
#include "emulate/test_frame.h"
#include "sim/random.h"

namespace alm::emulate {
namespace {

std::vector<int> numbers(std::span<const std::byte> bytes) {
  std::vector<int> out;
  for (const std::byte byte : bytes) out.push_back(std::to_integer<int>(byte));
  return out;
}

TEST(Answer, QuotesThePacketThatCameToItsEnd) {
  const auto frame = udp_frame({.ttl = 1, .payload = 300});
  const auto text = answer(Refusal::kTimeExceeded, frame, 2);
  const auto ip = std::span(text).subspan(kEthernetBytes);
  EXPECT_THAT(numbers(std::span(text).first(6)), testing::ElementsAre(2, 0xc6, 0x12, 0, 0, 0));
  EXPECT_EQ(internet_checksum(ip.first(20)), 0);
  EXPECT_EQ(internet_checksum(ip.subspan(20)), 0);
  EXPECT_THAT(numbers(ip.subspan(12, 8)), testing::ElementsAre(198, 19, 0, 3, 198, 18, 0, 1));
  EXPECT_THAT(numbers(ip.subspan(20, 2)), testing::ElementsAre(11, 0));
  const auto quoted = ip.subspan(28);
  EXPECT_TRUE(std::equal(quoted.begin(), quoted.end(), frame.begin() + kEthernetBytes));
  EXPECT_EQ(quoted.size(), frame.size() - kEthernetBytes);
}

TEST(Answer, IsNoLongerThanSenderAreOwed) {
  const auto text = answer(Refusal::kUnreachableHost, udp_frame({.payload = 1472}), 0);
  EXPECT_EQ(text.size(), kEthernetBytes + 576);
  EXPECT_THAT(numbers(std::span(text).subspan(kEthernetBytes + 20, 2)), testing::ElementsAre(3, 1));
}

TEST(Answer, IsThereForIpv6) {
  std::vector<std::byte> frame(kEthernetBytes + 60);
  frame[12] = std::byte{0x86};
  frame[13] = std::byte{0xdd};
  frame[kEthernetBytes] = std::byte{0x60};
  for (std::size_t i = 8; i < 40; ++i) frame[kEthernetBytes + i] = static_cast<std::byte>(i);
  const auto text = answer(Refusal::kTimeExceeded, frame, 0);
  const auto ip = std::span(text).subspan(kEthernetBytes);
  EXPECT_THAT(numbers(ip.subspan(8, 16)), testing::ElementsAre(0xfd, 0, 0xa1, 0x1e, 0x3a, 0x4d, 0,
                                                               0xe, 0, 0, 0, 0, 0, 1, 0, 1));
  EXPECT_THAT(numbers(ip.subspan(40, 2)), testing::ElementsAre(3, 0));
  // RFC 8200 section 8.1: over addresses, length, next header and the message.
  std::vector<std::byte> summed(ip.begin() + 8, ip.begin() + 40);
  const std::size_t length = ip.size() - 40;
  for (const std::size_t value : {std::size_t{0}, std::size_t{0}, length >> 8, length & 0xff}) {
    summed.push_back(static_cast<std::byte>(value));
  }
  for (const int value : {0, 0, 0, 58}) summed.push_back(static_cast<std::byte>(value));
  summed.insert(summed.end(), ip.begin() + 40, ip.end());
  EXPECT_EQ(internet_checksum(summed), 0);
}

TEST(Answer, OfWhatIsNoIpPacketThereIsNone) {
  EXPECT_TRUE(answer(Refusal::kTimeExceeded, std::vector<std::byte>(60), 0).empty());
  sim::Random random(5);
  for (int turn = 0; turn < 5000; ++turn) {
    std::vector<std::byte> bytes(random.below(120));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.next());
    if (bytes.size() > 14) {
      bytes[12] = std::byte{turn % 2 == 0 ? std::uint8_t{0x08} : std::uint8_t{0x86}};
      bytes[13] = std::byte{turn % 2 == 0 ? std::uint8_t{0x00} : std::uint8_t{0xdd}};
    }
    EXPECT_LE(answer(Refusal::kTimeExceeded, bytes, 1).size(), 700u);
  }
}

}  // namespace
}  // namespace alm::emulate

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "wire/bytes.h"
#include "wire/control.h"
#include "wire/hash.h"
#include "wire/header.h"
#include "wire/seal.h"

namespace alm::wire {
namespace {

Header random_header(std::mt19937_64& random) {
  Header header;
  header.type = static_cast<Type>(random() % (kTypeMax + 1));
  header.path = static_cast<std::uint8_t>(random() % (kPathMax + 1));
  header.flags = static_cast<std::uint8_t>(random() & kFlagsKnown);
  header.set = static_cast<std::uint16_t>(random());
  header.source = static_cast<std::uint16_t>(random());
  header.exchange = static_cast<std::uint16_t>(random());
  header.packet = static_cast<std::uint32_t>(random());
  header.acknowledged = static_cast<std::uint32_t>(random());
  return header;
}

TEST(Header, RoundTrip) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 10'000; ++i) {
    const Header header = random_header(random);
    std::array<std::byte, kHeaderBytes> bytes{};
    encode(header, bytes);
    Header back;
    ASSERT_EQ(decode(bytes, &back), DecodeError::kNone);
    ASSERT_EQ(back, header);
  }
}

TEST(Header, LayoutIsTheDocumentedOne) {
  std::array<std::byte, kHeaderBytes> bytes{};
  encode(Header{Type::kProbe, 21, kFlagAckSoon, 0x1122, 0x3344, 0x5566, 0x778899AA, 0xBBCCDDEE},
         bytes);
  const std::array<int, 16> expected{0x32, 0xA9, 0x22, 0x11, 0x44, 0x33, 0x66, 0x55,
                                     0xAA, 0x99, 0x88, 0x77, 0xEE, 0xDD, 0xCC, 0xBB};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(std::to_integer<int>(bytes[i]), expected[i]) << "byte " << i;
  }
}

TEST(Header, RefusesWhatItDoesNotKnow) {
  std::array<std::byte, kHeaderBytes> bytes{};
  encode(Header{}, bytes);
  Header out;
  for (std::size_t size = 0; size < kHeaderBytes; ++size) {
    EXPECT_EQ(decode(std::span(bytes).first(size), &out), DecodeError::kTooShort);
  }
  auto version = bytes;
  version[0] = std::byte{0x20};
  EXPECT_EQ(decode(version, &out), DecodeError::kOtherVersion);
  auto type = bytes;
  type[0] = std::byte{0x30 + kTypeMax + 1};
  EXPECT_EQ(decode(type, &out), DecodeError::kUnknownType);
  auto flags = bytes;
  flags[1] = std::byte{0x04};
  EXPECT_EQ(decode(flags, &out), DecodeError::kUnknownFlags);
}

TEST(Control, AckRoundTripAndBounds) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 2'000; ++i) {
    AckBody body{static_cast<std::uint32_t>(random()), static_cast<std::uint32_t>(random()), {}};
    for (std::size_t word = 0; word < random() % (kBitmapWords + 1); ++word) {
      body.bitmap[word] = random();
    }
    std::array<std::byte, kAckBytesMax> bytes{};
    const std::size_t size = encode_ack(body, bytes);
    ASSERT_EQ(decode_ack(std::span(bytes).first(size)), body);
  }
  const std::vector<std::byte> zeros(64);
  for (std::size_t size = 0; size <= zeros.size(); ++size) {
    const bool valid = size >= kAckBytesMin && size <= kAckBytesMax && size % 8 == 0;
    EXPECT_EQ(decode_ack(std::span(zeros).first(size)).has_value(), valid) << size;
    EXPECT_EQ(decode_number(std::span(zeros).first(size)).has_value(), size == kNumberBytes);
  }
}

TEST(Control, ProbeMismatchAndElsewhereRoundTripAndBounds) {
  const ProbeBody probe{7, 0x1122334455667788, 99};
  const MismatchBody mismatch{3, 1, 0x8877665544332211, 0};
  const ElsewhereBody elsewhere{0x1122334455667788, 40};
  std::array<std::byte, kMismatchBytes + 1> bytes{};
  EXPECT_EQ(encode_probe(probe, bytes), kProbeBytes);
  EXPECT_EQ(decode_probe(std::span(bytes).first(kProbeBytes)), probe);
  EXPECT_EQ(encode_mismatch(mismatch, bytes), kMismatchBytes);
  EXPECT_EQ(decode_mismatch(std::span(bytes).first(kMismatchBytes)), mismatch);
  EXPECT_EQ(encode_elsewhere(elsewhere, bytes), kElsewhereBytes);
  EXPECT_EQ(decode_elsewhere(std::span(bytes).first(kElsewhereBytes)), elsewhere);
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    EXPECT_EQ(decode_elsewhere(std::span(bytes).first(size)).has_value(), size == kElsewhereBytes);
    EXPECT_EQ(decode_probe(std::span(bytes).first(size)).has_value(), size == kProbeBytes);
    EXPECT_EQ(decode_mismatch(std::span(bytes).first(size)).has_value(), size == kMismatchBytes);
  }
}

TEST(Seal, EveryFlippedBitIsFound) {
  const Sealer sealer({7, 9});
  std::vector<std::byte> datagram(kHeaderBytes + 300);
  std::mt19937_64 random(3);
  for (auto& byte : datagram) byte = static_cast<std::byte>(random());
  encode(random_header(random), std::span(datagram).first<kHeaderBytes>());
  const std::span<std::byte> all(datagram);
  sealer.seal(all.first(kHeaderBytes), all.subspan(kHeaderBytes), 41);
  ASSERT_TRUE(sealer.verify(datagram, 41));
  for (std::size_t bit = 0; bit < 8 * datagram.size(); ++bit) {
    datagram[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
    ASSERT_FALSE(sealer.verify(datagram, 41)) << "bit " << bit;
    datagram[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
  }
  for (std::size_t size = kHeaderBytes; size < datagram.size(); ++size) {
    ASSERT_FALSE(sealer.verify(std::span(datagram).first(size), 41)) << "truncated to " << size;
  }
}

TEST(Seal, DataLeftToUdpIsNotCoveredAndEverythingElseIs) {
  const Sealer sealer({7, 9}, Covers::kHeader);
  for (const Type type : {Type::kData, Type::kAck}) {
    std::vector<std::byte> datagram(kHeaderBytes + 100);
    Header header;
    header.type = type;
    encode(header, std::span(datagram).first<kHeaderBytes>());
    const std::span<std::byte> all(datagram);
    if (type == Type::kData) {
      sealer.seal(all.first(kHeaderBytes), all.subspan(kHeaderBytes), 41);
    } else {
      sealer.seal(all, {}, 41);
    }
    ASSERT_TRUE(sealer.verify(datagram, 41));
    EXPECT_FALSE(sealer.verify(datagram, 42));
    EXPECT_FALSE(sealer.verify(all.first(kHeaderBytes + 99), 41));
    EXPECT_FALSE(Sealer({7, 9}).verify(datagram, 41) && type == Type::kData);
    for (std::size_t bit = 0; bit < 8 * datagram.size(); ++bit) {
      datagram[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
      const bool left_out = type == Type::kData && bit >= 8 * kHeaderBytes;
      ASSERT_EQ(sealer.verify(datagram, 41), left_out) << "bit " << bit;
      datagram[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
    }
  }
}

TEST(Seal, KeyAndFullExchangeNumberMatter) {
  std::array<std::byte, kHeaderBytes> bytes{};
  encode(Header{}, bytes);
  Sealer({1, 2}).seal(bytes, {}, 5);
  EXPECT_TRUE(Sealer({1, 2}).verify(bytes, 5));
  EXPECT_FALSE(Sealer({1, 3}).verify(bytes, 5));
  EXPECT_FALSE(Sealer({2, 2}).verify(bytes, 5));
  EXPECT_FALSE(Sealer({1, 2}).verify(bytes, 5 + 65536));
}

TEST(Seal, HeadAndPayloadEqualsTheWholeInOne) {
  const Sealer sealer({4, 4});
  std::vector<std::byte> whole(kHeaderBytes + kAckBytesMin, std::byte{0x5A});
  encode(Header{}, std::span(whole).first<kHeaderBytes>());
  auto control = whole;
  sealer.seal(control, {}, 1);
  auto split = whole;
  sealer.seal(std::span(split).first(kHeaderBytes), std::span(split).subspan(kHeaderBytes), 1);
  EXPECT_EQ(control, split);
}

TEST(Hash, TheSameOnEveryProcessor) {
  std::mt19937_64 random(5);
  std::vector<std::byte> data(4096), secret(192);
  for (auto* bytes : {&data, &secret}) {
    for (std::byte& byte : *bytes) byte = static_cast<std::byte>(random());
  }
  for (std::size_t bytes = 0; bytes <= data.size(); bytes += bytes < 300 ? 1 : 97) {
    const auto plain = hash_plain(data.data(), bytes, secret.data(), secret.size());
    EXPECT_EQ(hash(data.data(), bytes, secret.data(), secret.size()), plain);
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") == 0) continue;
    EXPECT_EQ(hash_avx2(data.data(), bytes, secret.data(), secret.size()), plain);
#endif
  }
}

}  // namespace
}  // namespace alm::wire

#include "emulate/frame.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/mix.h"

namespace alm::emulate {
namespace {

constexpr std::uint16_t kIpv4 = 0x0800, kIpv6 = 0x86dd;
constexpr std::uint8_t kTcp = 6, kUdp = 17;
constexpr std::array<std::uint8_t, 3> kPrefix{0x02, 0xc6, 0x12};

std::uint8_t byte_at(std::span<const std::byte> data, std::size_t at) {
  return std::to_integer<std::uint8_t>(data[at]);
}

std::uint16_t word_at(std::span<const std::byte> data, std::size_t at) {
  return static_cast<std::uint16_t>(byte_at(data, at) << 8 | byte_at(data, at + 1));
}

void put_word(std::span<std::byte> data, std::size_t at, std::uint32_t word) {
  data[at] = static_cast<std::byte>(word >> 8);
  data[at + 1] = static_cast<std::byte>(word);
}

// The version of an IP packet whose header is whole; 0: none.
int version_of(std::span<const std::byte> frame) {
  if (frame.size() < kEthernetBytes + kIpv4Bytes) return 0;
  const std::uint16_t kind = word_at(frame, 12);
  if (kind == kIpv4 && byte_at(frame, kEthernetBytes) >> 4 == 4) return 4;
  if (kind == kIpv6 && frame.size() >= kEthernetBytes + kIpv6Bytes) return 6;
  return 0;
}

// Another byte in an IP header, with the checksum that IPv4 has.
void put_header_byte(std::span<std::byte> frame, std::size_t at, std::uint8_t value) {
  const std::size_t word = at - (at - kEthernetBytes) % 2;
  const std::uint32_t before = word_at(frame, word);
  frame[at] = static_cast<std::byte>(value);
  if (version_of(frame) != 4) return;
  // RFC 1624, Eq 3: HC' = ~(~HC + ~m + m').
  const std::size_t sum_at = kEthernetBytes + 10;
  std::uint32_t sum = (~word_at(frame, sum_at) & 0xffffu) + (~before & 0xffffu);
  sum += word_at(frame, word);
  while (sum >> 16 != 0) sum = (sum & 0xffffu) + (sum >> 16);
  put_word(frame, sum_at, ~sum);
}

}  // namespace

std::optional<Station> destination_of(std::span<const std::byte> frame) {
  if (frame.size() < kEthernetBytes) return std::nullopt;
  for (std::size_t i = 0; i < kPrefix.size(); ++i) {
    if (byte_at(frame, i) != kPrefix[i]) return std::nullopt;
  }
  return Station{word_at(frame, 4), byte_at(frame, 3)};
}

std::uint32_t entropy_of(std::span<const std::byte> frame) {
  const int version = version_of(frame);
  if (version == 0) return 0;
  const std::size_t addresses = kEthernetBytes + (version == 4 ? 12 : 8);
  const std::size_t address_bytes = version == 4 ? 8 : 32;
  std::uint64_t x = 0;
  for (std::size_t i = 0; i < address_bytes; i += 4) {
    x = base::mix(x + (std::uint64_t{word_at(frame, addresses + i)} << 16 |
                       word_at(frame, addresses + i + 2)));
  }
  std::uint8_t protocol = 0;
  std::size_t ports = kEthernetBytes;
  bool whole = true;
  if (version == 4) {
    protocol = byte_at(frame, kEthernetBytes + 9);
    ports += std::size_t{byte_at(frame, kEthernetBytes) & 0xfu} * 4;
    whole = (word_at(frame, kEthernetBytes + 6) & 0x3fff) == 0;
  } else {
    protocol = byte_at(frame, kEthernetBytes + 6);
    ports += kIpv6Bytes;
  }
  x = base::mix(x + protocol);
  if (whole && (protocol == kTcp || protocol == kUdp) && frame.size() >= ports + 4) {
    x = base::mix(x + (std::uint64_t{word_at(frame, ports)} << 16 | word_at(frame, ports + 2)));
  }
  return static_cast<std::uint32_t>(x);
}

std::optional<std::uint32_t> ttl_of(std::span<const std::byte> frame) {
  const int version = version_of(frame);
  if (version == 0) return std::nullopt;
  return byte_at(frame, kEthernetBytes + (version == 4 ? 8 : 7));
}

void lower_ttl(std::span<std::byte> frame, std::uint32_t by) {
  const int version = version_of(frame);
  if (version == 0) return;
  const std::size_t at = kEthernetBytes + (version == 4 ? 8 : 7);
  const std::uint8_t ttl = byte_at(frame, at);
  put_header_byte(frame, at, static_cast<std::uint8_t>(ttl - std::min<std::uint32_t>(by, ttl)));
}

void mark_congestion(std::span<std::byte> frame) {
  constexpr std::uint8_t kCodepoint = 0x03;  // in IPv4's; IPv6 has it four bits higher
  const int version = version_of(frame);
  if (version == 0) return;
  const std::size_t at = kEthernetBytes + 1;
  const std::uint8_t mask = version == 4 ? kCodepoint : kCodepoint << 4;
  if ((byte_at(frame, at) & mask) == 0) return;
  put_header_byte(frame, at, byte_at(frame, at) | mask);
}

std::uint16_t internet_checksum(std::span<const std::byte> data, std::uint32_t sum) {
  std::uint64_t total = sum;
  for (std::size_t i = 0; i + 1 < data.size(); i += 2) total += word_at(data, i);
  if (data.size() % 2 == 1) total += std::uint64_t{byte_at(data, data.size() - 1)} << 8;
  while (total >> 16 != 0) total = (total & 0xffffu) + (total >> 16);
  return static_cast<std::uint16_t>(~total);
}

}  // namespace alm::emulate

#include "wire/header.h"

#include <cassert>

#include "wire/bytes.h"

namespace alm::wire {
namespace {

constexpr std::size_t kSetOffset = 2;
constexpr std::size_t kSourceOffset = 4;
constexpr std::size_t kExchangeOffset = 6;
constexpr std::size_t kPacketOffset = 8;
constexpr std::size_t kAcknowledgedOffset = 12;
static_assert(kAcknowledgedOffset + sizeof(std::uint32_t) == kChecksumOffset);
static_assert(kChecksumOffset + sizeof(std::uint64_t) == kHeaderBytes);

constexpr std::uint8_t kPathShift = 3;
constexpr std::uint8_t kFlagsMask = 0x07;

}  // namespace

void encode(const Header& header, std::span<std::byte, kHeaderBytes> out) {
  assert(header.path <= kPathMax);
  assert((header.flags & ~kFlagsKnown) == 0);
  out[0] = static_cast<std::byte>((kVersion << 4) | static_cast<std::uint8_t>(header.type));
  out[1] = static_cast<std::byte>((header.path << kPathShift) | header.flags);
  store(&out[kSetOffset], header.set);
  store(&out[kSourceOffset], header.source);
  store(&out[kExchangeOffset], header.exchange);
  store(&out[kPacketOffset], header.packet);
  store(&out[kAcknowledgedOffset], header.acknowledged);
}

DecodeError decode(std::span<const std::byte> datagram, Header* out) {
  if (datagram.size() < kHeaderBytes) return DecodeError::kTooShort;
  const auto first = std::to_integer<std::uint8_t>(datagram[0]);
  const auto second = std::to_integer<std::uint8_t>(datagram[1]);
  if ((first >> 4) != kVersion) return DecodeError::kOtherVersion;
  if ((first & 0x0F) > kTypeMax) return DecodeError::kUnknownType;
  out->type = static_cast<Type>(first & 0x0F);
  out->path = static_cast<std::uint8_t>(second >> kPathShift);
  out->flags = static_cast<std::uint8_t>(second & kFlagsMask);
  if ((out->flags & ~kFlagsKnown) != 0) return DecodeError::kUnknownFlags;
  out->set = load<std::uint16_t>(&datagram[kSetOffset]);
  out->source = load<std::uint16_t>(&datagram[kSourceOffset]);
  out->exchange = load<std::uint16_t>(&datagram[kExchangeOffset]);
  out->packet = load<std::uint32_t>(&datagram[kPacketOffset]);
  out->acknowledged = load<std::uint32_t>(&datagram[kAcknowledgedOffset]);
  return DecodeError::kNone;
}

}  // namespace alm::wire

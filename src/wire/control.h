// Bodies of control packets.
//
// Probe:     probe number (u32) | sends (u64) | expects (u64)              20 bytes
//   the bytes that the prober has for the receiver in this exchange, and expects from it
// Lost:      number of the lost rank (u32)                                 4 bytes
// Mismatch:  from (u32) | to (u32) | sent (u64) | expected (u64)           24 bytes
//   rank `from` of the set sends `sent` bytes to rank `to`, which expects `expected`
// Elsewhere: call (u64) | sends (u64)                                      16 bytes
//   the number of the call that the sender is in, and the bytes it sends to each rank in that call
//   outside this set; call 0: none, and `sends` is what the sender does instead
// Ack:       echo (u32) | seen (u32) | bitmap (0..4 x u64)                 8..40 bytes
//   echo    the number of the probe answered, 0 if none
//   seen    highest packet number received + 1
//   bitmap  bit i of word w: packet acknowledged + begin + 64 w + i has come
//   begin   the packet number in the header: 0, or a multiple of 256 where more has come
//
// All integers little-endian.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace alm::wire {

constexpr std::size_t kBitmapWords = 4;
constexpr std::uint32_t kBitmapBits = 64 * kBitmapWords;
constexpr std::size_t kNumberBytes = 4;
constexpr std::size_t kProbeBytes = 20;
constexpr std::size_t kMismatchBytes = 24;
constexpr std::size_t kElsewhereBytes = 16;
constexpr std::size_t kAckBytesMin = 8;
constexpr std::size_t kAckBytesMax = kAckBytesMin + 8 * kBitmapWords;

using Bitmap = std::array<std::uint64_t, kBitmapWords>;

struct AckBody {
  std::uint32_t echo = 0;
  std::uint32_t seen = 0;
  Bitmap bitmap{};
  std::uint32_t begin = 0;  // of the bitmap; travels in the header

  friend bool operator==(const AckBody&, const AckBody&) = default;
};

struct ProbeBody {
  std::uint32_t number = 0;
  std::uint64_t sends = 0, expects = 0;

  friend bool operator==(const ProbeBody&, const ProbeBody&) = default;
};

struct MismatchBody {
  std::uint32_t from = 0, to = 0;
  std::uint64_t sent = 0, expected = 0;

  friend bool operator==(const MismatchBody&, const MismatchBody&) = default;
};

struct ElsewhereBody {
  std::uint64_t call = 0, sends = 0;

  friend bool operator==(const ElsewhereBody&, const ElsewhereBody&) = default;
};

// Trailing zero words are left out. Returns the bytes written. Precondition: out fits kAckBytesMax.
std::size_t encode_ack(const AckBody& body, std::span<std::byte> out);
std::optional<AckBody> decode_ack(std::span<const std::byte> in);

std::size_t encode_probe(const ProbeBody& body, std::span<std::byte> out);
std::optional<ProbeBody> decode_probe(std::span<const std::byte> in);

std::size_t encode_mismatch(const MismatchBody& body, std::span<std::byte> out);
std::optional<MismatchBody> decode_mismatch(std::span<const std::byte> in);

std::size_t encode_elsewhere(const ElsewhereBody& body, std::span<std::byte> out);
std::optional<ElsewhereBody> decode_elsewhere(std::span<const std::byte> in);

// The body of a Lost packet.
std::size_t encode_number(std::uint32_t number, std::span<std::byte> out);
std::optional<std::uint32_t> decode_number(std::span<const std::byte> in);

}  // namespace alm::wire

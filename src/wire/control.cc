#include "wire/control.h"

#include <cassert>

#include "wire/bytes.h"

namespace alm::wire {

std::size_t encode_ack(const AckBody& body, std::span<std::byte> out) {
  assert(out.size() >= kAckBytesMax);
  store(&out[0], body.echo);
  store(&out[4], body.seen);
  std::size_t words = kBitmapWords;
  while (words > 0 && body.bitmap[words - 1] == 0) --words;
  for (std::size_t i = 0; i < words; ++i) store(&out[kAckBytesMin + 8 * i], body.bitmap[i]);
  return kAckBytesMin + 8 * words;
}

std::optional<AckBody> decode_ack(std::span<const std::byte> in) {
  if (in.size() < kAckBytesMin || in.size() > kAckBytesMax) return std::nullopt;
  if ((in.size() - kAckBytesMin) % sizeof(std::uint64_t) != 0) return std::nullopt;
  AckBody body;
  body.echo = load<std::uint32_t>(&in[0]);
  body.seen = load<std::uint32_t>(&in[4]);
  const std::size_t words = (in.size() - kAckBytesMin) / sizeof(std::uint64_t);
  for (std::size_t i = 0; i < words; ++i) {
    body.bitmap[i] = load<std::uint64_t>(&in[kAckBytesMin + 8 * i]);
  }
  return body;
}

std::size_t encode_number(std::uint32_t number, std::span<std::byte> out) {
  assert(out.size() >= kNumberBytes);
  store(&out[0], number);
  return kNumberBytes;
}

std::optional<std::uint32_t> decode_number(std::span<const std::byte> in) {
  if (in.size() != kNumberBytes) return std::nullopt;
  return load<std::uint32_t>(&in[0]);
}

std::size_t encode_probe(const ProbeBody& body, std::span<std::byte> out) {
  assert(out.size() >= kProbeBytes);
  store(&out[0], body.number);
  store(&out[4], body.sends);
  store(&out[12], body.expects);
  return kProbeBytes;
}

std::optional<ProbeBody> decode_probe(std::span<const std::byte> in) {
  if (in.size() != kProbeBytes) return std::nullopt;
  return ProbeBody{load<std::uint32_t>(&in[0]), load<std::uint64_t>(&in[4]),
                   load<std::uint64_t>(&in[12])};
}

std::size_t encode_mismatch(const MismatchBody& body, std::span<std::byte> out) {
  assert(out.size() >= kMismatchBytes);
  store(&out[0], body.from);
  store(&out[4], body.to);
  store(&out[8], body.sent);
  store(&out[16], body.expected);
  return kMismatchBytes;
}

std::optional<MismatchBody> decode_mismatch(std::span<const std::byte> in) {
  if (in.size() != kMismatchBytes) return std::nullopt;
  return MismatchBody{load<std::uint32_t>(&in[0]), load<std::uint32_t>(&in[4]),
                      load<std::uint64_t>(&in[8]), load<std::uint64_t>(&in[16])};
}

std::size_t encode_elsewhere(const ElsewhereBody& body, std::span<std::byte> out) {
  assert(out.size() >= kElsewhereBytes);
  store(&out[0], body.call);
  store(&out[8], body.sends);
  return kElsewhereBytes;
}

std::optional<ElsewhereBody> decode_elsewhere(std::span<const std::byte> in) {
  if (in.size() != kElsewhereBytes) return std::nullopt;
  return ElsewhereBody{load<std::uint64_t>(&in[0]), load<std::uint64_t>(&in[8])};
}

}  // namespace alm::wire

// The head of the prober's datagrams; the rest of a datagram is zeros. Little-endian:
//
//    0       4       8       12      16              24              32              40
//   +-------+-------+-------+-------+---------------+---------------+---------------+
//   | magic | exper.| flow  | number| sent          | answer (0, 1) | check         |
//   +-------+-------+-------+-------+---------------+---------------+---------------+
//
// `check` is the keyed XXH3 of the 32 bytes before it: datagrams of strangers, other jobs and other
// probings are dropped unanswered. An answer is as long as the packet it answers, and goes to the
// registered address of its sender: it cannot be aimed at anybody else.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/time.h"

namespace alm::probe {

constexpr std::uint32_t kMagic = 0x31504c41;  // "ALP1"
constexpr std::uint32_t kHeaderBytes = 40;

// Random bytes that all ranks of one probing share.
using Secret = std::array<std::byte, 192>;

struct Header {
  std::uint32_t experiment = 0, flow = 0, number = 0;
  base::Nanos sent = 0;  // by the sender's clock, since the beginning; answers repeat it
  bool answer = false;
};

void encode(const Header& header, const Secret& secret, std::span<std::byte, kHeaderBytes> out);
// Nothing: the datagram is not one of this probing.
std::optional<Header> decode(std::span<const std::byte> datagram, const Secret& secret);

}  // namespace alm::probe

// The inputs and outputs of the engine, without bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/rounds.h"
#include "blocks/sizes.h"
#include "wire/control.h"
#include "wire/header.h"

namespace alm::transport {

using base::PeerId;
using blocks::BlockSizes;
using blocks::Sizes;

// A datagram to send: its header fields, and where its payload is.
struct Emission {
  enum class Body : std::uint8_t { kBlock, kTail, kControl, kParity };
  PeerId peer = 0;
  Body body = Body::kControl;
  std::uint8_t control_bytes = 0;
  wire::Header header;
  std::uint64_t exchange = 0;  // all 64 bits of header.exchange
  std::uint64_t offset = 0;    // in the block for `peer`; of a parity: its number
  std::uint32_t length = 0;
  std::array<std::byte, wire::kAckBytesMax> control;
};

// Bytes around the payload of a datagram on the link: IPv4, UDP, Ethernet.
inline constexpr std::uint64_t kFramingBytes = 42;

enum class Verdict : std::uint8_t {
  kPlace,    // new data of the running exchange: copy to its offset
  kHold,     // data of the next exchange: keep until start()
  kParity,   // of a block of the running exchange: keep until its end
  kNothing,  // control packet, duplicate, or dropped
};

}  // namespace alm::transport

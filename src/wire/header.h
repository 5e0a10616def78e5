// The datagram header. docs/wire.md holds the same diagram.
//
//   0                   1                   2                   3
//   0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//  +-------+-------+---------+-----+-------------------------------+
//  |version| type  |  path   |flags|            set                |
//  +-------+-------+---------+-----+-------------------------------+
//  |            source             |          exchange             |
//  +-------------------------------+-------------------------------+
//  |                         packet number                         |
//  +---------------------------------------------------------------+
//  |                         acknowledged                          |
//  +---------------------------------------------------------------+
//  |                                                               |
//  +                  keyed XXH3 checksum (64 bit)                 +
//  |                                                               |
//  +---------------------------------------------------------------+
//
// All integers little-endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace alm::wire {

constexpr std::uint32_t kHeaderBytes = 24;
constexpr std::size_t kChecksumOffset = 16;
constexpr std::uint8_t kVersion = 3;
// Paths between two hosts: the header has five bits for them (docs/adr/0028-paths.md).
constexpr std::uint8_t kPathsMax = 32;
constexpr std::uint8_t kPathMax = kPathsMax - 1;

enum class Type : std::uint8_t {
  kData = 0,      // payload: the bytes of one packet of the block for the receiver
  kAck = 1,       // payload: control.h; what has come beyond `acknowledged`
  kProbe = 2,     // payload: control.h; asks for an ack
  kLost = 3,      // payload: control.h; the sender has given up because a rank is lost
  kMismatch = 4,  // payload: control.h; .. because two ranks do not agree on a block's size
  // payload: control.h; the sender has not entered `exchange`, and says where it is
  kElsewhere = 5,
  kFill = 6,  // payload: of no use; `packet` is the number of the fill that it is part of
  // payload: number `packet` of the parities of the block for the receiver (blocks/parity_code.h);
  // `acknowledged` is the length of that block in bytes
  kParity = 7,
};
constexpr std::uint8_t kTypeMax = 7;

// The sender of this data packet waits for acknowledgements rather than for data: answer at once.
constexpr std::uint8_t kFlagAckSoon = 1;
// The last packet of its block: the receiver sees that the block is as long as it expects.
constexpr std::uint8_t kFlagLast = 2;
// The same bit of a parity: its sender has seen losses by itself.
constexpr std::uint8_t kFlagFirstHand = 2;
constexpr std::uint8_t kFlagsKnown = kFlagAckSoon | kFlagLast;

struct Header {
  Type type = Type::kData;
  std::uint8_t path = 0;       // 0..kPathMax
  std::uint8_t flags = 0;      // 3 bits, kFlag...
  std::uint16_t set = 0;       // the receiver's number for the communicator
  std::uint16_t source = 0;    // the sender's rank in it
  std::uint16_t exchange = 0;  // low bits of the exchange number; the checksum covers all 64
  std::uint32_t packet = 0;    // number inside the block; in an ack: where its bitmap begins
  std::uint32_t acknowledged =
      0;  // packets 0..acknowledged-1 of `exchange` from the receiver have come

  friend bool operator==(const Header&, const Header&) = default;
};

// `acknowledged` when the whole exchange has been received, whatever its size.
constexpr std::uint32_t kAcknowledgedAll = 0xFFFFFFFFu;

// Writes the 16 bytes before the checksum. Precondition: path <= kPathMax, flags within
// kFlagsKnown.
void encode(const Header& header, std::span<std::byte, kHeaderBytes> out);

enum class DecodeError : std::uint8_t {
  kNone,
  kTooShort,
  kOtherVersion,
  kUnknownType,
  kUnknownFlags
};

// Whether an encoded header is that of a data packet.
inline bool is_data(const std::byte* header) {
  constexpr std::byte kTypeMask{0x0F};
  return (header[0] & kTypeMask) == static_cast<std::byte>(Type::kData);
}

// Reads the fixed fields of a datagram; the checksum is checked by Sealer::verify.
DecodeError decode(std::span<const std::byte> datagram, Header* out);

}  // namespace alm::wire

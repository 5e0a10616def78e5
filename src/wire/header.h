// The datagram header. docs/wire.md holds the same diagram.
//
//   0                   1                   2                   3
//   0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//  +-------+-------+---------------+-------------------------------+
//  |version| type  |path |  flags  |            set                |
//  +-------+-------+---------------+-------------------------------+
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

constexpr std::size_t kHeaderBytes = 24;
constexpr std::uint8_t kVersion = 1;

enum class Type : std::uint8_t {
  kData = 0,   // payload: the bytes of one packet of the block for the receiver
  kAck = 1,    // payload: bitmap of packets received beyond `acknowledged`, probe echo
  kProbe = 2,  // asks for an ack; payload: probe number
  kBye = 3,    // the sender's set is gone: an answer to probes for it
};

struct Header {
  Type type = Type::kData;
  std::uint8_t path = 0;            // 0..7
  std::uint8_t flags = 0;           // 5 bits
  std::uint16_t set = 0;            // the receiver's number for the communicator
  std::uint16_t source = 0;         // the sender's rank in it
  std::uint16_t exchange = 0;       // low bits of the exchange number
  std::uint32_t packet = 0;         // packet number inside the block
  std::uint32_t acknowledged = 0;   // packets 0..acknowledged-1 of `exchange` from the receiver have come
};

}  // namespace alm::wire

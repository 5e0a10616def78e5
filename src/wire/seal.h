// The keyed 64-bit checksum of a datagram: peer cookie and integrity check in one (design section
// 5).
//
//   body  = XXH3(secret, payload)
//   check = XXH3(secret, header[0..16) | exchange number (64 bit) | body)
//
// The secret is expanded from the set's key. The full exchange number is covered although only its
// low 16 bits travel, so that a duplicate from 65536 exchanges ago does not pass. XXH3 guards
// against accidents and against senders without the key; it is no cryptographic authentication.
//
// Covers::kHeader leaves the data of data packets to the checksum of UDP, which the kernel or the
// network interface computes: body is then the length of the payload. Control packets are covered
// as a whole.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/header.h"

namespace alm::wire {

using Key = std::array<std::uint64_t, 2>;

enum class Covers : std::uint8_t { kAll, kHeader };

class Sealer {
 public:
  explicit Sealer(const Key& key, Covers covers = Covers::kAll);

  // `head` holds an encoded header and, for control packets, the body right after it; `payload` may
  // be empty. The checksum covers head (less the checksum field) followed by payload.
  void seal(std::span<std::byte> head, std::span<const std::byte> payload,
            std::uint64_t exchange) const;

  // `datagram` is a whole datagram of at least kHeaderBytes.
  bool verify(std::span<const std::byte> datagram, std::uint64_t exchange) const;

 private:
  std::uint64_t check(const std::byte* header, std::uint64_t exchange,
                      std::span<const std::byte> payload) const;

  std::array<std::byte, 192> secret_;
  Covers covers_;
};

}  // namespace alm::wire

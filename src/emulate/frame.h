// What the emulator reads of a frame, and what it writes into it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace alm::emulate {

constexpr std::uint32_t kEthernetBytes = 14;

// The lab's hosts have addresses 02:c6:12:NN:HH:HH: interface number NN of host HHHH.
struct Station {
  std::uint32_t host = 0, number = 0;
};
// Whom a frame is for; nothing: no host of the lab.
std::optional<Station> destination_of(std::span<const std::byte> frame);

// Addresses, protocol and ports, mixed; fragments count without ports.
std::uint32_t entropy_of(std::span<const std::byte> frame);

// How many more routers an IP packet may pass (TTL, hop limit); nothing: it is none.
std::optional<std::uint32_t> ttl_of(std::span<const std::byte> frame);
// Takes so many off, the checksum of IPv4 included.
void lower_ttl(std::span<std::byte> frame, std::uint32_t by);

// Congestion experienced (RFC 3168), where the sender said that it knows of it.
void mark_congestion(std::span<std::byte> frame);

// RFC 1071, of what is in network byte order.
std::uint16_t internet_checksum(std::span<const std::byte> data, std::uint32_t sum = 0);

}  // namespace alm::emulate

// The fields of a frame that the emulator reads and writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace alm::emulate {

constexpr std::uint32_t kEthernetBytes = 14;
constexpr std::size_t kIpv4Bytes = 20, kIpv6Bytes = 40;  // without options

// The lab's hosts have addresses 02:c6:12:NN:HH:HH: interface number NN of host HHHH.
struct Station {
  std::uint32_t host = 0, number = 0;
};
// The receiver of a frame; nothing: no host of the lab.
std::optional<Station> destination_of(std::span<const std::byte> frame);

// A hash of addresses, protocol and ports; of fragments without ports.
std::uint32_t entropy_of(std::span<const std::byte> frame);

// The TTL or hop limit of an IP packet; nothing: the frame holds no IP packet.
std::optional<std::uint32_t> ttl_of(std::span<const std::byte> frame);
// Lowers the TTL and corrects the checksum of IPv4.
void lower_ttl(std::span<std::byte> frame, std::uint32_t by);

// Sets Congestion Experienced (RFC 3168), if the sender said that it knows ECN.
void mark_congestion(std::span<std::byte> frame);

// RFC 1071. `data` is in network byte order.
std::uint16_t internet_checksum(std::span<const std::byte> data, std::uint32_t sum = 0);

}  // namespace alm::emulate

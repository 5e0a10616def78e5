// What a router says to the sender of a packet that it cannot pass on, by ICMP (RFC 792, RFC 4443).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace alm::emulate {

enum class Refusal {
  kTimeExceeded,    // its TTL came to an end
  kUnreachableHost  // no way leads on
};
// As Ethernet frame, from switch `number` of the cluster file; empty where the packet is no IP.
// Switches are 198.19.0.1, 198.19.0.2, .. and fd00:a11e:3a4d:e::1:1, .. in the order of the file.
std::vector<std::byte> answer(Refusal refusal, std::span<const std::byte> frame,
                              std::uint32_t number);

}  // namespace alm::emulate

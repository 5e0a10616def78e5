// The ICMP messages that a router sends back for packets it cannot pass on (RFC 792, RFC 4443).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace alm::emulate {

enum class Refusal {
  kTimeExceeded,    // the packet's TTL has run out
  kUnreachableHost  // no route leads on
};
// The answer as an Ethernet frame, sent by switch `number` of the cluster file; empty if the frame
// holds no IP packet. Switches have the addresses 198.19.0.1, 198.19.0.2, .. and
// fd00:a11e:3a4d:e::1:1, .. in the order of the file.
std::vector<std::byte> answer(Refusal refusal, std::span<const std::byte> frame,
                              std::uint32_t number);

}  // namespace alm::emulate

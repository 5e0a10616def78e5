// What a rank puts on the network: packets, and bytes with framing.
#pragma once

#include <cstdint>

namespace alm::plan {

// Our header, IPv4, UDP and Ethernet around the payload of a packet.
constexpr std::uint64_t kFramingBytes = 66;

struct Traffic {
  std::uint64_t packets = 0, wire_bytes = 0;

  Traffic& operator+=(const Traffic& more) {
    packets += more.packets;
    wire_bytes += more.wire_bytes;
    return *this;
  }
};

// The traffic of messages of `bytes` each, with `packet_bytes` of payload in a packet.
constexpr Traffic message_traffic(std::uint64_t messages, std::uint64_t bytes,
                                  std::uint32_t packet_bytes) {
  const std::uint64_t packets = (bytes + packet_bytes - 1) / packet_bytes;
  return {messages * packets, messages * (bytes + packets * kFramingBytes)};
}

}  // namespace alm::plan

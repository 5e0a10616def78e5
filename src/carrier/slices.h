// Cuts messages into slices, one for each of several leaders of a host. A slice is of whole
// packets, so that a message takes no more packets than with one leader. The leader of the same
// number on the other host knows the slice from the size of the message alone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "carrier/udp_group.h"

namespace alm::carrier {

struct Slice {
  std::uint32_t leader, of;  // leader 0 .. of - 1
  std::uint32_t packet_bytes;
};

// Sharing pays for messages of so many bytes or more between two hosts.
constexpr std::uint64_t kSharedBytesMin = 64u << 10;

// Narrows each message, of bytes[i] bytes at at[i], to the slice.
inline void take_slices(const Slice& slice, std::vector<std::uint64_t>& at,
                        std::vector<std::uint64_t>& bytes) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const std::uint64_t packets = (bytes[i] + slice.packet_bytes - 1) / slice.packet_bytes;
    const std::uint64_t each = (packets + slice.of - 1) / slice.of * slice.packet_bytes;
    const std::uint64_t begin = std::min(bytes[i], slice.leader * each);
    at[i] += begin;
    bytes[i] = std::min(bytes[i], begin + each) - begin;
  }
}

// For node::SlabData: the rank for which the group's last exchange failed.
inline std::optional<std::uint32_t> lost_by(const UdpGroup& group) {
  const auto loss = group.loss();
  return loss ? std::optional(loss->lost) : std::nullopt;
}

}  // namespace alm::carrier

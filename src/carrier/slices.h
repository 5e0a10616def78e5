// What each of several leaders of a host carries of its messages: a slice, in whole packets, so
// that a message has as many of them as when one leader carries it. The leader of the same number
// on the other host knows the same slice by the size of the message alone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "carrier/udp_carrier.h"

namespace alm::carrier {

struct Slice {
  std::uint32_t leader, of;  // of so many
  std::uint32_t packet_bytes;
};

// Shared messages are worth it from so many bytes on between two hosts.
constexpr std::uint64_t kSharedBytesMin = 64u << 10;

// Of messages that lie `at` and have `bytes`.
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

// For node::SlabData: whom the carrier's last exchange has failed for.
inline std::optional<std::uint32_t> lost_by(const UdpCarrier& carrier) {
  const auto loss = carrier.loss();
  return loss ? std::optional(loss->lost) : std::nullopt;
}

}  // namespace alm::carrier

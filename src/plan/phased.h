// The exchanges that combine messages in phases, for small blocks, and when which of them pays.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "plan/bruck.h"
#include "plan/grid.h"

namespace alm::plan {

using Phased = std::variant<Grid, Bruck>;

std::size_t phases_of(const Phased& phased);
std::string text_of(const Phased& phased);  // "grid 8 x 4", "bruck 5 x 7"

// Every phase waits once for the latency of the network and for a process to be woken; a packet
// costs a few microseconds at each end.
constexpr std::uint64_t kPhasePackets = 8;

Traffic direct_traffic(std::uint32_t ranks, std::uint64_t bytes, std::uint32_t packet_bytes);
Traffic traffic_of(const Phased& phased, std::uint64_t bytes, std::uint32_t packet_bytes);

// Packets, a phase counting as much as kPhasePackets of them.
std::uint64_t cost_of(const Phased& phased, std::uint64_t bytes, std::uint32_t packet_bytes);
std::uint64_t direct_cost(std::uint32_t ranks, std::uint64_t bytes, std::uint32_t packet_bytes);

// The one of least cost for blocks of `bytes`. Nothing where none needs less than half the packets
// of the direct exchange without much more on the wire.
std::optional<std::size_t> choose_phased(std::span<const Phased> all, std::uint64_t bytes,
                                         std::uint32_t packet_bytes);

// Grids, whose lines keep to the leaves, or Bruck's way where the number of ranks has no divisors
// that do as well: those that choose_phased would take for blocks of some size, and the first.
// `group_of` as in Request.
std::vector<Phased> make_phased(std::uint32_t ranks, base::Rank self,
                                std::span<const std::vector<std::uint32_t>> group_of,
                                std::uint32_t packet_bytes);

}  // namespace alm::plan

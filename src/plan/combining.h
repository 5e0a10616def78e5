// The plans that combine messages in several phases, for small blocks, and when which of them pays.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/ids.h"
#include "plan/plan.h"
#include "plan/traffic.h"

namespace alm::plan {

// Every phase waits once for the latency of the network and for a process to be woken; a packet
// costs a few microseconds at each end.
constexpr std::uint64_t kPhasePackets = 8;

// What one rank sends for blocks of `bytes`, with `packet_bytes` of them in a packet.
Traffic traffic_of(const Plan& plan, std::uint64_t bytes, std::uint32_t packet_bytes);
// In one phase, each block for itself.
Traffic direct_traffic(std::uint32_t ranks, std::uint64_t bytes, std::uint32_t packet_bytes);

// Packets, a phase counting as much as kPhasePackets of them.
std::uint64_t cost_of(const Plan& plan, std::uint64_t bytes, std::uint32_t packet_bytes);
std::uint64_t direct_cost(std::uint32_t ranks, std::uint64_t bytes, std::uint32_t packet_bytes);

// The one of least cost for blocks of `bytes`. Nothing where none needs less than half the packets
// of the direct exchange without much more on the wire.
std::optional<std::size_t> choose_combining(std::span<const Plan> all, std::uint64_t bytes,
                                            std::uint32_t packet_bytes);

// All plans of combining_plans() together have no more phases than this.
constexpr std::size_t kCombiningPhasesMax = 2 + 3 + 4 + 5;
// Nor have multi-site, local group and coordinator.
constexpr std::size_t kSitePhasesMax = 2 + 2 + 3;

// Which of the plans there are.
enum class Keep : std::uint8_t {
  kUseful,  // those that choose_combining would take for blocks of some size, and the first
  kAll,     // one for each number of phases: somebody else chooses
};

// Grids, whose lines keep to the leaves, or Bruck's way where the number of ranks has no divisors
// that do as well.
std::vector<Plan> combining_plans(std::uint32_t ranks, base::Rank self, const LeafOf& leaf_of,
                                  std::uint32_t packet_bytes, Keep keep = Keep::kUseful);

}  // namespace alm::plan

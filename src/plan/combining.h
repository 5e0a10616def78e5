// The plans that combine messages in several phases, for small blocks, and the choice among them.
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

// What one rank sends for blocks of `bytes`, with `packet_bytes` of payload in a packet.
Traffic traffic_of(const Plan& plan, std::uint64_t bytes, std::uint32_t packet_bytes);
// The same for the direct exchange: one phase, each block a message.
Traffic direct_traffic(std::uint32_t ranks, std::uint64_t bytes, std::uint32_t packet_bytes);

// Packets, plus kPhasePackets for each phase.
std::uint64_t cost_of(const Plan& plan, std::uint64_t bytes, std::uint32_t packet_bytes);
std::uint64_t direct_cost(std::uint32_t ranks, std::uint64_t bytes, std::uint32_t packet_bytes);

// The plan of least cost for blocks of `bytes`. Nothing if no plan needs less than half the packets
// of the direct exchange without sending many more bytes.
std::optional<std::size_t> choose_combining(std::span<const Plan> all, std::uint64_t bytes,
                                            std::uint32_t packet_bytes);

// All plans of combining_plans() together have no more phases than this.
constexpr std::size_t kCombiningPhasesMax = 2 + 3 + 4 + 5;
// The same for multi-site, local group and coordinator together.
constexpr std::size_t kSitePhasesMax = 2 + 2 + 3;

// Which plans combining_plans() returns.
enum class Keep : std::uint8_t {
  kUseful,  // those that choose_combining takes for some size, and the first
  kAll,     // one for each number of phases: the caller chooses
};

// How many phases combining_plans() has at most, whatever the packets hold.
std::size_t combining_phases_max(std::uint32_t ranks, const LeafOf& leaf_of);

// Grids whose lines keep to leaves, or Bruck's algorithm if the number of ranks has no divisors
// that do as well.
std::vector<Plan> combining_plans(std::uint32_t ranks, base::Rank self, const LeafOf& leaf_of,
                                  std::uint32_t packet_bytes, Keep keep = Keep::kUseful);

}  // namespace alm::plan

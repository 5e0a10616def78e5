// Which of the equal ways between leaves the block of each pair of members takes, so that no way
// carries more than it must. Pure: ways are numbers that mean the same to all leaves, such as
// spines; by which five-tuple or path number a way is reached is another question
// (assigned_paths.h, mpi/found_ways.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/rounds.h"

namespace alm::plan {

// Of a member whose leaf is not known: its blocks have no way.
constexpr std::uint32_t kNoLeaf = UINT32_MAX;
constexpr std::uint8_t kNoWay = UINT8_MAX;
// More take too long to be spread by every rank alone.
constexpr std::uint32_t kAssignedMembersMax = 256;

// `leaf_of`: by member. `sends`: of each member the peers it sends to, in the order of steps; what
// is sent in one step loads no link more than it must (schedule/ways.h). Gives [from * members +
// to] the way, below `ways`; kNoWay below one leaf.
std::vector<std::uint8_t> assign_ways(std::span<const std::uint32_t> leaf_of, std::uint32_t ways,
                                      std::span<const std::vector<base::PeerId>> sends);

// The same for blocks of different sizes, [from * members + to] bytes, that all go at once. The
// better of two: the pairs spread evenly whatever they have to send, which is best where all have
// alike; and the largest first, each by the way that is loaded least.
std::vector<std::uint8_t> assign_ways_to_blocks(std::span<const std::uint32_t> leaf_of,
                                                std::uint32_t ways,
                                                std::span<const std::uint64_t> bytes);

}  // namespace alm::plan

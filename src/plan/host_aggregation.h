// Plans for several ranks per host: the ranks of a host pass the blocks for other hosts to the host
// leader; the leaders exchange by a plan of the hosts, one message for each pair of hosts; and each
// leader hands out the blocks that come. Blocks between ranks of one host stay in its memory.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "plan/placement.h"
#include "plan/plan.h"

namespace alm::plan {

// The blocks that the ranks of one host have for those of another, in the order in which they lie
// in messages and in the memory of hosts: by destination, then by origin.
std::vector<Move> blocks_between(const Placement& placement, std::uint32_t from, std::uint32_t to);

// Expands `of_hosts`, the plan of this rank's host among the hosts, into the plan of the rank.
// Where every host has one rank, the two are the same.
Plan over_hosts(const Plan& of_hosts, const Placement& placement, base::Rank self);

}  // namespace alm::plan

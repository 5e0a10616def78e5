// Several ranks per host: the ranks of a host hand what leaves it to one of them, its leader; the
// leaders exchange as a plan of the hosts says, one message for each pair of hosts; and each leader
// hands out what has come. Blocks between ranks of one host stay in its memory.
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

// The part of one rank. `of_hosts` is the plan of its host among the hosts, which it expands. Where
// every host has one rank, that plan is the answer.
Plan over_hosts(const Plan& of_hosts, const Placement& placement, base::Rank self);

}  // namespace alm::plan

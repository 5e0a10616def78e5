// Inside the module: the makers of one rank's phases, one per line of algorithms.def, each in a
// file of its own. Preconditions: plan.algorithm, permutation, ranks and self are set, ranks >= 2.
// A maker adds the phases and the shape.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "plan/plan.h"
#include "schedule/schedule.h"

namespace alm::plan {

#define ALM_ALGORITHM(enumerator, name, maker, shape, knows) \
  base::Status maker(const Request& request, Plan& plan);
#include "plan/algorithms.def"
#undef ALM_ALGORITHM

// The permutation the request asks for, mapped to the switch hierarchy.
base::Result<schedule::SchedulePtr> make_schedule(const Request& request, Permutation permutation);

// Appends a direct phase for plan.self, with rounds of `steps_per_round` consecutive steps.
void append_direct_phase(Plan& plan, const schedule::Schedule& schedule,
                         std::uint32_t steps_per_round);

// Append a message to or from a peer to the only round of `phase`.
void append_send(Phase& phase, base::PeerId peer, const std::vector<Move>& moves);
void append_receive(Phase& phase, base::PeerId peer, const std::vector<Move>& moves);

}  // namespace alm::plan

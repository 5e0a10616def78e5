// Inside the module: what makes the phases of one rank's plan, one per line of algorithms.def. Each
// is in a file of its own. plan.algorithm, permutation, ranks and self are set, ranks >= 2; the
// maker adds the phases and the shape.
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

// A direct phase: rounds of `steps_per_round` consecutive steps each, for plan.self.
void append_direct_phase(Plan& plan, const schedule::Schedule& schedule,
                         std::uint32_t steps_per_round);

// The moves of one message more, which goes to or comes from a peer in the one round of `phase`.
void append_send(Phase& phase, base::PeerId peer, const std::vector<Move>& moves);
void append_receive(Phase& phase, base::PeerId peer, const std::vector<Move>& moves);

}  // namespace alm::plan

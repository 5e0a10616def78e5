// Inside the module: from the steps of a schedule to the rounds of a plan.
#pragma once

#include <cstdint>

#include "plan/plan.h"
#include "schedule/schedule.h"

namespace alm::plan {

// Rounds of `steps_per_round` consecutive steps each, for plan.self.
void append_rounds(Plan& plan, const schedule::Schedule& schedule, std::uint32_t steps_per_round);

// One per algorithm, each in a file of its own. plan.ranks and plan.self are set, ranks >= 2.
void plan_direct(Plan& plan);
void plan_shift_exchange(Plan& plan, const schedule::Schedule& shift);
void plan_pairwise(Plan& plan, const schedule::Schedule& pairing);
void plan_group_shuffle(Plan& plan, const schedule::Schedule& schedule, std::uint32_t omega);
void plan_sync_shuffle(Plan& plan, const schedule::Schedule& schedule);

}  // namespace alm::plan

// The rounds of one rank's plan, in the form the transport takes.
#pragma once

#include <cstdint>

#include "base/rounds.h"
#include "plan/plan.h"

namespace alm::carrier {

struct PlanRounds {
  plan::Algorithm algorithm{};
  plan::Permutation permutation{};
  base::Rounds rounds;
};

PlanRounds rounds_of(const plan::Plan& plan);

// Rounds of one partner each, in the order of a shift.
PlanRounds shift_rounds(std::uint32_t ranks, std::uint32_t self);

// One round of everybody in a group of `ranks`, in the order of a shift.
PlanRounds group_rounds(std::uint32_t ranks, std::uint32_t self);

}  // namespace alm::carrier

#include "carrier/plan_rounds.h"

namespace alm::carrier {
PlanRounds rounds_of(const plan::Plan& plan) {
  return {plan.algorithm, plan.permutation, plan.rounds};
}

PlanRounds shift_rounds(std::uint32_t ranks, std::uint32_t self) {
  plan::Request request;
  request.ranks = ranks;
  request.self = base::Rank{self};
  request.algorithm = plan::Algorithm::kShiftExchange;
  request.permutation = plan::Permutation::kShift;
  return rounds_of(plan::make_plan(request).value());
}

PlanRounds group_rounds(std::uint32_t ranks, std::uint32_t self) {
  plan::Request request;
  request.ranks = ranks;
  request.self = base::Rank{self};
  return rounds_of(plan::make_plan(request).value());
}

}  // namespace alm::carrier

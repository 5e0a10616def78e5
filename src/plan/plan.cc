#include "plan/plan.h"

#include <fmt/core.h>

#include "plan/rounds.h"
#include "schedule/schedule.h"

namespace alm::plan {
namespace {

Permutation permutation_for(const Request& request) {
  switch (request.algorithm) {
    case Algorithm::kShiftExchange:
      return Permutation::kShift;
    case Algorithm::kPairwise:
      return request.permutation == Permutation::kXor ? Permutation::kXor
                                                      : Permutation::kEdgeColouring;
    case Algorithm::kDirect:
    case Algorithm::kGroupShuffle:
    case Algorithm::kSyncShuffle:
      break;
  }
  return request.permutation;
}

schedule::SchedulePtr make_schedule(Permutation permutation, bool remap,
                                    const schedule::Grouping& grouping) {
  schedule::SchedulePtr plain;
  switch (permutation) {
    case Permutation::kShift:
      plain = schedule::make_shift(grouping.ranks());
      break;
    case Permutation::kXor:
      plain = schedule::make_xor(grouping.ranks());
      break;
    case Permutation::kEdgeColouring:
      plain = schedule::make_edge_colouring(grouping.ranks());
      break;
    case Permutation::kBalanced:
      return schedule::make_balanced(grouping);
  }
  if (!remap || grouping.levels() == 0) return plain;
  return schedule::make_remapped(std::move(plain), grouping);
}

}  // namespace

base::Result<Plan> make_plan(const Request& request) {
  if (request.ranks == 0) return base::bad_input("plan for 0 ranks; expected at least 1");
  if (request.self.value >= request.ranks) {
    return base::bad_input(fmt::format("plan for rank {} of {}; expected a rank below {}",
                                       request.self.value, request.ranks, request.ranks));
  }
  const auto grouping = schedule::Grouping::make(request.ranks, request.group_of);
  if (!grouping) return grouping.error();
  Plan plan;
  plan.algorithm = request.algorithm;
  plan.permutation = permutation_for(request);
  plan.ranks = request.ranks;
  plan.self = request.self;
  if (request.ranks == 1) return plan;
  if (request.algorithm == Algorithm::kDirect) {
    plan_direct(plan);
    return plan;
  }
  const schedule::SchedulePtr schedule =
      make_schedule(plan.permutation, request.contention_aware, grouping.value());
  switch (request.algorithm) {
    case Algorithm::kShiftExchange:
      plan_shift_exchange(plan, *schedule);
      break;
    case Algorithm::kPairwise:
      plan_pairwise(plan, *schedule);
      break;
    case Algorithm::kGroupShuffle:
      plan_group_shuffle(plan, *schedule,
                         request.omega > 0 ? request.omega : default_omega(request.ranks));
      break;
    case Algorithm::kSyncShuffle:
    case Algorithm::kDirect:
      plan_sync_shuffle(plan, *schedule);
      break;
  }
  return plan;
}

}  // namespace alm::plan

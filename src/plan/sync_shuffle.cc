// Synchronous shuffle exchange (000 Algorithm 1; 2 with window and remap): item s of every message
// in turn, s = 1..k, each time to all partners in the order of the permutation.
// One round of p-1 partners. Cost: k(p-1) g + T_w (Eq 2): the bandwidth bound.
#include "plan/rounds.h"

namespace alm::plan {

base::Status plan_sync_shuffle(const Request& request, Plan& plan) {
  const auto schedule = make_schedule(request, request.permutation);
  if (!schedule) return schedule.error();
  append_direct_phase(plan, *schedule.value(), schedule.value()->steps());
  return {};
}

}  // namespace alm::plan

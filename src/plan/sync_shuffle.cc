// Synchronous shuffle exchange (000 Algorithm 1; 2 with window and remap): item s of every message
// in turn, s = 1..k, each time to all partners in the order of the permutation.
// One round of p-1 partners. Cost: k(p-1) g + T_w (Eq 2): the bandwidth bound.
#include "plan/rounds.h"

namespace alm::plan {

void plan_sync_shuffle(Plan& plan, const schedule::Schedule& schedule) {
  append_rounds(plan, schedule, schedule.steps());
}

}  // namespace alm::plan

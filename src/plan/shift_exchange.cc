// Shift exchange (002): in round i = 1..p-1 send all to r + i and receive all from r - i.
// Cost: (p-1)(k g + T_w), as Eq 6; but the two partners differ, so acks cannot ride on data, and
// 002 measured it 3 % behind pairwise for that reason.
#include "plan/rounds.h"

namespace alm::plan {

base::Status plan_shift_exchange(const Request& request, Plan& plan) {
  plan.permutation = Permutation::kShift;
  const auto shift = make_schedule(request, plan.permutation);
  if (!shift) return shift.error();
  append_direct_phase(plan, *shift.value(), 1);
  plan.phases.front().rounds.interleaved = false;
  return {};
}

}  // namespace alm::plan

// Shift exchange (002): in round i = 1..p-1 send all to r + i and receive all from r - i.
// Cost: (p-1)(k g + T_w), as Eq 6; but the two partners differ, so acks cannot ride on data, and
// 002 measured it 3 % behind pairwise for that reason.
#include "plan/rounds.h"

namespace alm::plan {

void plan_shift_exchange(Plan& plan, const schedule::Schedule& shift) {
  plan.rounds.interleaved = false;
  append_rounds(plan, shift, 1);
}

}  // namespace alm::plan

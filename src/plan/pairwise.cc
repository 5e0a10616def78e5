// Generalised pairwise exchange (000 Algorithm 3): in round i exchange all k items with the partner
// of colour i, or idle when there is none.
// Cost: (p-1)(k g + T_w) for even p, p rounds for odd p (Eq 6): T_w in every round, where the
// synchronous shuffle pays it once.
#include "plan/rounds.h"

namespace alm::plan {

void plan_pairwise(Plan& plan, const schedule::Schedule& pairing) {
  plan.rounds.interleaved = false;
  append_rounds(plan, pairing, 1);
}

}  // namespace alm::plan

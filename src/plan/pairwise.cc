// Generalised pairwise exchange (000 Algorithm 3): in round i exchange all k items with the partner
// of colour i, or idle when there is none.
// Cost: (p-1)(k g + T_w) for even p, p rounds for odd p (Eq 6): T_w in every round, where the
// synchronous shuffle pays it once.
#include "plan/rounds.h"

namespace alm::plan {

base::Status plan_pairwise(const Request& request, Plan& plan) {
  plan.permutation =
      request.permutation == Permutation::kXor ? Permutation::kXor : Permutation::kEdgeColouring;
  const auto pairing = make_schedule(request, plan.permutation);
  if (!pairing) return pairing.error();
  append_direct_phase(plan, *pairing.value(), 1);
  plan.phases.front().rounds.interleaved = false;
  return {};
}

}  // namespace alm::plan

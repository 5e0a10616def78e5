// Direct: everybody posts everything, in the order of ranks, and the network sorts it out. The
// baseline, and what stock MPI libraries do for large messages.
// Partners: 0, 1, .. p-1 without oneself, block after block. Cost: Eq 2's bound at best; nothing
// keeps all ranks from sending to rank 0 first.
#include "plan/rounds.h"

namespace alm::plan {

base::Status plan_direct(const Request&, Plan& plan) {
  Phase& phase = plan.phases.emplace_back();
  phase.self = plan.self.value;
  base::Rounds& rounds = phase.rounds;
  rounds.interleaved = false;
  for (std::uint32_t rank = 0; rank < plan.ranks; ++rank) {
    if (rank != plan.self.value) rounds.send.push_back(rank);
  }
  rounds.recv = rounds.send;
  rounds.send_begin = rounds.recv_begin = {0, plan.ranks - 1};
  return {};
}

}  // namespace alm::plan

// Direct: everybody posts everything, in the order of ranks, and the network sorts it out. The
// baseline, and what stock MPI libraries do for large messages.
// Partners: 0, 1, .. p-1 without oneself, block after block. Cost: Eq 2's bound at best; nothing
// keeps all ranks from sending to rank 0 first.
#include "plan/rounds.h"

namespace alm::plan {

void plan_direct(Plan& plan) {
  plan.rounds.interleaved = false;
  for (std::uint32_t rank = 0; rank < plan.ranks; ++rank) {
    if (rank != plan.self.value) plan.rounds.send.push_back(rank);
  }
  plan.rounds.recv = plan.rounds.send;
  plan.rounds.send_begin = plan.rounds.recv_begin = {0, plan.ranks - 1};
}

}  // namespace alm::plan

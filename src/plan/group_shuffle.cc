// Group shuffle exchange (002): rounds of omega partners, whose items alternate inside the round.
// Partners of round i: those of steps (i-1) omega + 1 .. i omega of the permutation.
// Cost: k(p-1) g + ceil((p-1)/omega) T_w. omega = 1 is one partner at a time, omega = p-1 the
// synchronous shuffle; in between it bounds how many senders can meet at an input-buffered switch.
#include <bit>

#include "plan/rounds.h"

namespace alm::plan {

std::uint32_t default_omega(std::uint32_t ranks) {
  if (ranks < 3) return 1;
  const auto log2_up = static_cast<std::uint32_t>(std::bit_width(ranks - 1));
  return log2_up + 1 < ranks - 1 ? log2_up + 1 : ranks - 1;
}

base::Status plan_group_shuffle(const Request& request, Plan& plan) {
  const auto schedule = make_schedule(request, request.permutation);
  if (!schedule) return schedule.error();
  const std::uint32_t omega = request.omega > 0 ? request.omega : default_omega(request.ranks);
  plan.shape = {omega};
  append_direct_phase(plan, *schedule.value(), omega);
  return {};
}

}  // namespace alm::plan

#include "plan/rounds.h"

#include <algorithm>

namespace alm::plan {

void append_rounds(Plan& plan, const schedule::Schedule& schedule, std::uint32_t steps_per_round) {
  plan.send.reserve(schedule.ranks());
  plan.recv.reserve(schedule.ranks());
  plan.send_begin.push_back(0);
  plan.recv_begin.push_back(0);
  for (std::uint32_t begin = 0; begin < schedule.steps();) {
    const std::uint32_t end = begin + std::min(steps_per_round, schedule.steps() - begin);
    for (std::uint32_t step = begin; step < end; ++step) {
      const base::Rank to = schedule.send_to(plan.self, step);
      const base::Rank from = schedule.recv_from(plan.self, step);
      if (to.valid()) plan.send.push_back(to);
      if (from.valid()) plan.recv.push_back(from);
    }
    begin = end;
    const auto sends = static_cast<std::uint32_t>(plan.send.size());
    const auto recvs = static_cast<std::uint32_t>(plan.recv.size());
    if (sends == plan.send_begin.back() && recvs == plan.recv_begin.back()) continue;
    plan.send_begin.push_back(sends);
    plan.recv_begin.push_back(recvs);
  }
}

}  // namespace alm::plan

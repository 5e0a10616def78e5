#include "plan/rounds.h"

#include <algorithm>

namespace alm::plan {

void append_rounds(Plan& plan, const schedule::Schedule& schedule, std::uint32_t steps_per_round) {
  plan.rounds.send.reserve(schedule.ranks());
  plan.rounds.recv.reserve(schedule.ranks());
  plan.rounds.send_begin.push_back(0);
  plan.rounds.recv_begin.push_back(0);
  for (std::uint32_t begin = 0; begin < schedule.steps();) {
    const std::uint32_t end = begin + std::min(steps_per_round, schedule.steps() - begin);
    for (std::uint32_t step = begin; step < end; ++step) {
      const base::Rank to = schedule.send_to(plan.self, step);
      const base::Rank from = schedule.recv_from(plan.self, step);
      if (to.valid()) plan.rounds.send.push_back(to.value);
      if (from.valid()) plan.rounds.recv.push_back(from.value);
    }
    begin = end;
    const auto sends = static_cast<std::uint32_t>(plan.rounds.send.size());
    const auto recvs = static_cast<std::uint32_t>(plan.rounds.recv.size());
    if (sends == plan.rounds.send_begin.back() && recvs == plan.rounds.recv_begin.back()) continue;
    plan.rounds.send_begin.push_back(sends);
    plan.rounds.recv_begin.push_back(recvs);
  }
}

}  // namespace alm::plan

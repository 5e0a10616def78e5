#include "plan/rounds.h"

#include <algorithm>

namespace alm::plan {
namespace {

// One message more in the only round.
void append(std::vector<base::PeerId>& peers, std::vector<std::uint32_t>& round,
            std::vector<Move>& all, std::vector<std::uint32_t>& begin, base::PeerId peer,
            const std::vector<Move>& moves) {
  if (begin.empty()) begin.push_back(0);
  peers.push_back(peer);
  all.insert(all.end(), moves.begin(), moves.end());
  begin.push_back(static_cast<std::uint32_t>(all.size()));
  round = {0, static_cast<std::uint32_t>(peers.size())};
}

}  // namespace

void append_direct_phase(Plan& plan, const schedule::Schedule& schedule,
                         std::uint32_t steps_per_round) {
  Phase& phase = plan.phases.emplace_back();
  phase.self = plan.self.value;
  base::Rounds& rounds = phase.rounds;
  rounds.send.reserve(schedule.ranks());
  rounds.recv.reserve(schedule.ranks());
  rounds.send_begin.push_back(0);
  rounds.recv_begin.push_back(0);
  for (std::uint32_t begin = 0; begin < schedule.steps();) {
    const std::uint32_t end = begin + std::min(steps_per_round, schedule.steps() - begin);
    for (std::uint32_t step = begin; step < end; ++step) {
      const base::Rank to = schedule.send_to(plan.self, step);
      const base::Rank from = schedule.recv_from(plan.self, step);
      if (to.valid()) rounds.send.push_back(to.value);
      if (from.valid()) rounds.recv.push_back(from.value);
    }
    begin = end;
    // Idle steps and rounds without partners are left out.
    const auto sends = static_cast<std::uint32_t>(rounds.send.size());
    const auto recvs = static_cast<std::uint32_t>(rounds.recv.size());
    if (sends == rounds.send_begin.back() && recvs == rounds.recv_begin.back()) continue;
    rounds.send_begin.push_back(sends);
    rounds.recv_begin.push_back(recvs);
  }
}

void append_send(Phase& phase, base::PeerId peer, const std::vector<Move>& moves) {
  append(phase.rounds.send, phase.rounds.send_begin, phase.out, phase.out_begin, peer, moves);
}

void append_receive(Phase& phase, base::PeerId peer, const std::vector<Move>& moves) {
  append(phase.rounds.recv, phase.rounds.recv_begin, phase.in, phase.in_begin, peer, moves);
}

}  // namespace alm::plan

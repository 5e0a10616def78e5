#include "plan/host_aggregation.h"

#include "plan/rounds.h"

namespace alm::plan {
namespace {

using Ranks = std::vector<std::uint32_t>;

class Aggregation {
 public:
  Aggregation(const Plan& of_hosts, const Placement& placement, base::Rank self)
      : of_hosts_(of_hosts),
        placement_(placement),
        self_(self),
        host_(placement.host_of[self.value]),
        here_(placement.ranks[host_]),
        leads_(placement.leads(self.value)) {}

  std::vector<Phase> phases() const {
    std::vector<Phase> phases = {collect()};
    for (const Phase& phase : of_hosts_.phases) phases.push_back(leads_ ? expand(phase) : idle());
    phases.push_back(hand_out());
    return phases;
  }

 private:
  // What a rank has for the other hosts goes to the leader, and what it has for a rank of its own
  // host to that rank.
  std::vector<Move> collected(std::uint32_t from, std::uint32_t to) const {
    std::vector<Move> moves = {{{from}, {to}}};
    for (std::uint32_t host = 0; to == here_.front() && host < placement_.hosts(); ++host) {
      if (host == host_) continue;
      for (const std::uint32_t there : placement_.ranks[host]) moves.push_back({{from}, {there}});
    }
    return moves;
  }

  std::vector<Move> handed_out(std::uint32_t to) const {
    std::vector<Move> moves;
    for (std::uint32_t host = 0; host < placement_.hosts(); ++host) {
      if (host == host_) continue;
      for (const std::uint32_t from : placement_.ranks[host]) moves.push_back({{from}, {to}});
    }
    return moves;
  }

  Phase in_memory() const {
    Phase phase;
    phase.via = Via::kMemory;
    for (const std::uint32_t rank : here_) phase.members.push_back({rank});
    phase.self = placement_.local_rank[self_.value];
    phase.out_begin = phase.in_begin = {0};
    phase.rounds.send_begin = phase.rounds.recv_begin = {0, 0};
    return phase;
  }

  Phase collect() const {
    Phase phase = in_memory();
    for (base::PeerId peer = 0; peer < here_.size(); ++peer) {
      if (peer == phase.self) continue;
      append_send(phase, peer, collected(self_.value, here_[peer]));
      append_receive(phase, peer, collected(here_[peer], self_.value));
    }
    return phase;
  }

  Phase hand_out() const {
    Phase phase = in_memory();
    for (base::PeerId peer = 1; leads_ && peer < here_.size(); ++peer) {
      append_send(phase, peer, handed_out(here_[peer]));
    }
    if (!leads_) append_receive(phase, 0, handed_out(self_.value));
    return phase;
  }

  std::vector<Move> expanded(std::span<const Move> of_hosts) const {
    std::vector<Move> moves;
    for (const Move& move : of_hosts) {
      const auto more = blocks_between(placement_, move.origin.value, move.destination.value);
      moves.insert(moves.end(), more.begin(), more.end());
    }
    return moves;
  }

  Phase expand(const Phase& of_hosts) const {
    Phase phase;
    const std::uint32_t count = of_hosts.members.empty()
                                    ? placement_.hosts()
                                    : static_cast<std::uint32_t>(of_hosts.members.size());
    for (base::PeerId peer = 0; peer < count; ++peer) {
      phase.members.push_back({placement_.leader(of_hosts.rank_of(peer).value)});
    }
    phase.self = of_hosts.self;
    phase.reach = of_hosts.reach;
    phase.rounds = of_hosts.rounds;
    phase.out_begin = phase.in_begin = {0};
    Move direct;
    const auto append = [&](std::span<const Move> message, std::vector<Move>& all,
                            std::vector<std::uint32_t>& begin) {
      const auto more = expanded(message);
      all.insert(all.end(), more.begin(), more.end());
      begin.push_back(static_cast<std::uint32_t>(all.size()));
    };
    for (std::size_t i = 0; i < phase.rounds.send.size(); ++i) {
      append(of_hosts.sends(i, direct), phase.out, phase.out_begin);
    }
    for (std::size_t i = 0; i < phase.rounds.recv.size(); ++i) {
      append(of_hosts.receives(i, direct), phase.in, phase.in_begin);
    }
    return phase;
  }

  // The phase of a rank that does not lead.
  Phase idle() const {
    Phase phase;
    phase.members = {self_};
    phase.out_begin = phase.in_begin = {0};
    phase.rounds.send_begin = phase.rounds.recv_begin = {0, 0};
    return phase;
  }

  const Plan& of_hosts_;
  const Placement& placement_;
  base::Rank self_;
  std::uint32_t host_;
  const Ranks& here_;
  bool leads_;
};

}  // namespace

std::vector<Move> blocks_between(const Placement& placement, std::uint32_t from, std::uint32_t to) {
  std::vector<Move> moves;
  for (const std::uint32_t destination : placement.ranks[to]) {
    for (const std::uint32_t origin : placement.ranks[from]) {
      moves.push_back({{origin}, {destination}});
    }
  }
  return moves;
}

Plan over_hosts(const Plan& of_hosts, const Placement& placement, base::Rank self) {
  if (!placement.shared()) return of_hosts;
  Plan plan;
  plan.algorithm = of_hosts.algorithm;
  plan.permutation = of_hosts.permutation;
  plan.identity = "by-host/" + of_hosts.identity;
  plan.shape = of_hosts.shape;
  plan.ranks = placement.rank_count();
  plan.self = self;
  plan.phases = Aggregation(of_hosts, placement, self).phases();
  return plan;
}

}  // namespace alm::plan

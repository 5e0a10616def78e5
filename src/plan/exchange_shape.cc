#include "plan/exchange_shape.h"

#include <algorithm>

#include "plan/far.h"

namespace alm::plan {
namespace {

constexpr std::uint32_t kStepsRanksMax = 256;  // ranks^2 messages are kept

bool is_complete(const Phase& phase, std::uint32_t ranks) {
  return phase.reach == Reach::kAny && phase.direct() && phase.members.empty() &&
         phase.rounds.count() == 1 && phase.rounds.send.size() == ranks - 1;
}

// Adds one rank's messages to the steps: the i-th message of its only round belongs to step i.
void append_steps(model::Phase& out, const Phase& phase, std::uint32_t self) {
  out.steps.resize(std::max(out.steps.size(), phase.rounds.send.size()));
  for (std::size_t i = 0; i < phase.rounds.send.size(); ++i) {
    out.steps[i].messages.push_back({.from = self, .to = phase.rounds.send[i], .blocks = 1});
  }
}

// Adds one rank's messages of each round to those of the other ranks.
void append(model::Phase& out, const Phase& phase, std::uint32_t self) {
  Move direct;
  out.rounds.resize(std::max(out.rounds.size(), phase.rounds.count()));
  for (std::size_t round = 0; round < phase.rounds.count(); ++round) {
    for (std::uint32_t i = phase.rounds.send_begin[round]; i < phase.rounds.send_begin[round + 1];
         ++i) {
      const auto moves = phase.sends(i, direct);
      out.rounds[round].messages.push_back({.from = self,
                                            .to = phase.rank_of(phase.rounds.send[i]).value,
                                            .blocks = static_cast<double>(moves.size())});
    }
  }
}

}  // namespace

base::Result<model::ExchangeShape> shape_of(const Request& request) {
  model::ExchangeShape shape;
  shape.ranks = request.ranks;
  shape.coordinated = request.algorithm != Algorithm::kDirect;
  shape.between_sites = !request.site_of.empty();
  Request one = request;
  for (std::uint32_t rank = 0; rank < request.ranks; ++rank) {
    one.self = {rank};
    const auto plan = make_plan(one);
    if (!plan) return plan.error();
    const auto& phases = plan.value().phases;
    shape.phases.resize(phases.size());
    for (std::size_t i = 0; i < phases.size(); ++i) {
      if (phases[i].via == Via::kMemory) continue;
      shape.phases[i].alongside =
          i > 0 && phases[i].direct() && (rank == 0 || shape.phases[i].alongside);
      shape.phases[i].windowed = phases[i].reach == Reach::kAny;
      shape.phases[i].paced = phases[i].reach == Reach::kFar ? kFarSpare : 0;
      shape.phases[i].interleaved = phases[i].rounds.interleaved;
      shape.phases[i].complete = is_complete(phases[i], request.ranks);
      if (!shape.phases[i].complete) {
        append(shape.phases[i], phases[i], rank);
      } else if (shape.coordinated && request.ranks <= kStepsRanksMax) {
        append_steps(shape.phases[i], phases[i], rank);
      }
    }
  }
  return shape;
}

}  // namespace alm::plan

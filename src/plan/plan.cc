#include "plan/plan.h"

#include <fmt/format.h>

#include "plan/rounds.h"
#include "schedule/schedule.h"

namespace alm::plan {
namespace {

using Maker = base::Status (*)(const Request& request, Plan& plan);

Maker maker_of(Algorithm algorithm) {
  switch (algorithm) {
#define ALM_ALGORITHM(enumerator, name, maker, shape, knows) \
  case Algorithm::enumerator:                                \
    return maker;
#include "plan/algorithms.def"
#undef ALM_ALGORITHM
  }
  return nullptr;
}

schedule::SchedulePtr plain_schedule(Permutation permutation, std::uint32_t ranks) {
  switch (permutation) {
    case Permutation::kXor:
      return schedule::make_xor(ranks);
    case Permutation::kEdgeColouring:
      return schedule::make_edge_colouring(ranks);
    case Permutation::kShift:
    case Permutation::kBalanced:
      break;
  }
  return schedule::make_shift(ranks);
}

// The remap is part of what a plan does, and the balanced permutation needs none.
std::string identity_of(const Plan& plan, const Request& request, bool permuted) {
  std::string text(name_of(plan.algorithm));
  if (!plan.shape.empty()) text += ":" + text_of_shape(plan.shape);
  if (request.combined && plan.algorithm == Algorithm::kMultiSite) text += "-combined";
  if (!permuted) return text;
  text += "@" + std::string(name_of(plan.permutation));
  const bool plain = !request.contention_aware && plan.permutation != Permutation::kBalanced;
  return plain ? text + "-plain" : text;
}

}  // namespace

std::span<const Move> Phase::sends(std::size_t message, Move& direct) const {
  if (!this->direct()) {
    return std::span(out).subspan(out_begin[message], out_begin[message + 1] - out_begin[message]);
  }
  direct = {rank_of(self), rank_of(rounds.send[message])};
  return {&direct, 1};
}

std::span<const Move> Phase::receives(std::size_t message, Move& direct) const {
  if (!this->direct()) {
    return std::span(in).subspan(in_begin[message], in_begin[message + 1] - in_begin[message]);
  }
  direct = {rank_of(rounds.recv[message]), rank_of(self)};
  return {&direct, 1};
}

base::Result<schedule::SchedulePtr> make_schedule(const Request& request, Permutation permutation) {
  const auto grouping = schedule::Grouping::make(request.ranks, request.leaf_of);
  if (!grouping) return grouping.error();
  if (permutation == Permutation::kBalanced) return schedule::make_balanced(grouping.value());
  auto plain = plain_schedule(permutation, request.ranks);
  if (!request.contention_aware || grouping.value().levels() == 0) return plain;
  return schedule::make_remapped(std::move(plain), grouping.value());
}

base::Result<Permutation> permutation_in_step(const Request& request) {
  const auto grouping = schedule::Grouping::make(request.ranks, request.leaf_of);
  if (!grouping) return grouping.error();
  const bool idles = request.permutation == Permutation::kBalanced &&
                     grouping.value().levels() > 0 && !grouping.value().equal_leaves();
  return idles ? Permutation::kShift : request.permutation;
}

base::Result<Plan> make_plan(const Request& request) {
  if (request.ranks == 0) return base::bad_input("plan for 0 ranks; expected at least 1");
  if (request.self.value >= request.ranks) {
    return base::bad_input(fmt::format("plan for rank {} of {}; expected a rank below {}",
                                       request.self.value, request.ranks, request.ranks));
  }
  Plan plan;
  plan.algorithm = request.algorithm;
  plan.permutation = request.permutation;
  plan.ranks = request.ranks;
  plan.self = request.self;
  if (request.ranks == 1) {
    plan.phases.emplace_back();
  } else if (auto made = maker_of(request.algorithm)(request, plan); !made) {
    return made.error();
  }
  const bool permuted =
      plan.phases.front().direct() && request.algorithm != Algorithm::kDirect && request.ranks > 1;
  plan.identity = identity_of(plan, request, permuted);
  return plan;
}

}  // namespace alm::plan

#include "carrier/plan_rounds.h"

#include <algorithm>

namespace alm::carrier {
namespace {

template <class Id>
std::vector<std::uint32_t> values(const std::vector<Id>& ids) {
  std::vector<std::uint32_t> out(ids.size());
  std::transform(ids.begin(), ids.end(), out.begin(), [](Id id) { return id.value; });
  return out;
}

}  // namespace

PlanRounds rounds_of(const plan::Plan& plan) {
  PlanRounds rounds;
  rounds.algorithm = plan.algorithm;
  rounds.permutation = plan.permutation;
  rounds.send = values(plan.send);
  rounds.recv = values(plan.recv);
  rounds.send_begin = plan.send_begin;
  rounds.recv_begin = plan.recv_begin;
  rounds.interleaved = plan.interleaved;
  return rounds;
}

PlanRounds shift_rounds(std::uint32_t ranks, std::uint32_t self) {
  plan::Request request;
  request.ranks = ranks;
  request.self = base::Rank{self};
  request.algorithm = plan::Algorithm::kShiftExchange;
  request.permutation = plan::Permutation::kShift;
  return rounds_of(plan::make_plan(request).value());
}

PlanRounds group_rounds(std::uint32_t ranks, std::uint32_t self) {
  plan::Request request;
  request.ranks = ranks;
  request.self = base::Rank{self};
  return rounds_of(plan::make_plan(request).value());
}

}  // namespace alm::carrier

// The rounds of one rank's plan, in the form the transport takes.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/plan.h"
#include "transport/engine.h"

namespace alm::carrier {

struct PlanRounds {
  plan::Algorithm algorithm{};
  plan::Permutation permutation{};
  std::vector<transport::PeerId> send, recv;
  std::vector<std::uint32_t> send_begin, recv_begin;
  bool interleaved = true;

  transport::Rounds view() const {
    return {send, recv, send_begin, recv_begin, interleaved, {}, {}, 0};
  }
};

PlanRounds rounds_of(const plan::Plan& plan);

// Rounds of one partner each, in the order of a shift.
PlanRounds shift_rounds(std::uint32_t ranks, std::uint32_t self);

// One round of everybody in a group of `ranks`, in the order of a shift.
PlanRounds group_rounds(std::uint32_t ranks, std::uint32_t self);

}  // namespace alm::carrier

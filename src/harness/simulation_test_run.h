// For tests: runs a simulation that must succeed.
#pragma once

#include <gtest/gtest.h>

#include <utility>

#include "harness/simulation.h"

namespace alm::harness {

constexpr std::uint32_t kPayload = 1472 - 24;  // of a packet of 1500 bytes

inline SimResult run(const SimRequest& wanted) {
  auto result = simulate(wanted);
  if (!result) {
    ADD_FAILURE() << result.error().message;
    return {};
  }
  return std::move(result).value();
}

}  // namespace alm::harness

// For tests: runs a simulation that must succeed.
#pragma once

#include <gtest/gtest.h>

#include <utility>

#include "harness/simulation.h"

namespace alm::harness {

inline SimResult run(const SimRequest& wanted) {
  auto result = simulate(wanted);
  if (!result) {
    ADD_FAILURE() << result.error().message;
    return {};
  }
  return std::move(result).value();
}

}  // namespace alm::harness

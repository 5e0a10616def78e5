// For tests: what every rank does in an exchange.
#pragma once

#include <vector>

#include "plan/plan.h"

namespace alm::plan {

inline std::vector<Plan> plans_of(Request request) {
  std::vector<Plan> plans;
  for (std::uint32_t rank = 0; rank < request.ranks; ++rank) {
    request.self = {rank};
    plans.push_back(make_plan(request).value());
  }
  return plans;
}

}  // namespace alm::plan

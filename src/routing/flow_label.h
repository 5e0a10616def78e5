// Which rules look at path numbers.
#pragma once

#include "routing/routes.h"

namespace alm::routing {

constexpr bool tells_paths_apart(Rule rule) {
  return rule == Rule::kEcmp || rule == Rule::kSource || rule == Rule::kLid ||
         chooses_per_message(rule);
}

}  // namespace alm::routing

// Plans as the models see them (model/exchange_shape.h).
#pragma once

#include "base/result.h"
#include "model/exchange_shape.h"
#include "plan/plan.h"

namespace alm::plan {

// The shape of all ranks together; `request.self` is not used. O(ranks^2) where the plan has
// several rounds or combines blocks. Errors as from make_plan.
base::Result<model::ExchangeShape> shape_of(const Request& request);

}  // namespace alm::plan

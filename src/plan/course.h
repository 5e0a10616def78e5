// Plans as the models see them (model/course.h).
#pragma once

#include "base/result.h"
#include "model/course.h"
#include "plan/plan.h"

namespace alm::plan {

// The course of all ranks together; `request.self` is not used. O(ranks^2) where the plan has
// several rounds or combines blocks. Errors as from make_plan.
base::Result<model::Course> course_of(const Request& request);

}  // namespace alm::plan

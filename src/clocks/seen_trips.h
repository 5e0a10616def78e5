// What exchanges have seen of the way to the others and back.
#pragma once

#include "base/time.h"

namespace alm::clocks {

// Round trips of the nearest peer and of the farthest, each the shortest of that peer; 0: none yet.
// `answered`: of the farthest of those that were asked, whose answers nothing held back.
struct SeenTrips {
  base::Nanos nearest = 0;
  base::Nanos farthest = 0;
  base::Nanos answered = 0;
};

}  // namespace alm::clocks

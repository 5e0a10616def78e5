// What round trips of short and of full packets tell of an idle network.
#pragma once

#include <span>

#include "base/time.h"

namespace alm::clocks {

// What an idle network takes; 0: not known.
struct IdleTimes {
  base::Nanos round_trip = 0;  // of a full packet and a short answer, to the farthest host asked
  base::Nanos frame = 0;       // of a full frame on one link, at most
};

// [host] the round trips of short and of full datagrams; the first host is the one that asked.
// `share_of_answers`: of the time by which full ones take longer, because their answers are longer,
// too. The farthest may be the one that has not answered: then the round trip is not known.
IdleTimes idle_times(std::span<const base::Nanos> short_trips,
                     std::span<const base::Nanos> full_trips, double share_of_answers);

}  // namespace alm::clocks

// When blocks between sites are better sent together (multi_site.cc).
#pragma once

#include <cstdint>

#include "plan/plan.h"

namespace alm::plan {

// The largest blocks that are: as long as every message between sites fits one packet. Equal on all
// ranks, whoever asks. 0: the request has no plan.
std::uint64_t combined_bytes_max(const Request& request, std::uint32_t packet_bytes);

}  // namespace alm::plan

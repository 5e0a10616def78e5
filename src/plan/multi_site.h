// Up to which size blocks between sites are combined (multi_site.cc).
#pragma once

#include <cstdint>

#include "plan/plan.h"

namespace alm::plan {

// The largest such size: every message between sites then fits one packet. Equal on all ranks,
// whatever `request.self`. 0: the request has no plan.
std::uint64_t combined_bytes_max(const Request& request, std::uint32_t packet_bytes);

}  // namespace alm::plan

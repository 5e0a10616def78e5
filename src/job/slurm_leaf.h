// What Slurm tells every process of a job for nothing: the switches above its host.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/options.h"

namespace alm::job {

// The switches above this host, "core.rack3", from SLURM_TOPOLOGY_ADDR ("core.rack3.n17") and
// SLURM_TOPOLOGY_ADDR_PATTERN ("switch.switch.node"). Empty: Slurm does not know them, or the
// variables are those of another host, because a launcher has handed them on.
std::string slurm_switches(const base::Environment& environment, std::string_view host);

// A number for them, the same on all hosts below the same switches; 0: they are not known.
std::uint32_t leaf_number(std::string_view switches);

}  // namespace alm::job

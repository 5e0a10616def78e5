// Who sends how much to whom in a scenario.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "scenario/scenario.h"
#include "topology/cluster.h"

namespace alm::scenario {

// Hosts and their ranks, pairs, a matrix or stages, other jobs and background flows.
base::Status set_traffic(const topology::Cluster& cluster, Scenario& out);

// Rows of bytes, one row per sender, in one vector; kBadInput, which begins with `where`, unless
// they are ranks x ranks.
base::Result<std::vector<std::uint64_t>> matrix_of(const Rows& rows, std::size_t ranks,
                                                   const std::string& where);

}  // namespace alm::scenario

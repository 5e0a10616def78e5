// Options of a simulation that say who sends how much to whom.
#pragma once

#include "scenario/reader.h"
#include "scenario/options.h"

namespace alm::bindings {

constexpr std::uint64_t kSizeMax = std::uint64_t{1} << 40;  // of a block

// Reads hosts and their ranks, pairs, a matrix or stages, other jobs and background flows. Throws
// RaisedError.
void read_traffic_options(Reader& reader, const topology::Cluster& cluster, SimulateOptions& out);

}  // namespace alm::bindings

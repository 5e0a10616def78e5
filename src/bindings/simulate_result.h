// What a simulation gave, as Python gets it.
#pragma once

#include <nanobind/nanobind.h>

#include "bindings/simulate_job.h"
#include "harness/simulation.h"

namespace alm::bindings {

double seconds(sim::Picos time);

// The result of one job, or the sum of several. `job`: the first.
nanobind::dict dict_of(const harness::SimResult& result, const Job& job,
                       const topology::Cluster& cluster);

// Adds what each job and each flow in the background got, and what would be a fair share.
void add_shares(nanobind::dict& out, const harness::SharedResult& result,
                const SimulateOptions& options, const topology::Cluster& cluster, bool combines);

}  // namespace alm::bindings

// Turns the result of a simulation into a Python dict.
#pragma once

#include <nanobind/nanobind.h>

#include "scenario/job.h"
#include "harness/simulation.h"

namespace alm::bindings {

double seconds(sim::Picos time);

// `result` is that of one job, or the sum of several; `job` is the first.
nanobind::dict dict_of(const harness::SimResult& result, const Job& job,
                       const topology::Cluster& cluster);

// Adds what each job and each background flow got of the network, and what a fair share would be.
void add_shares(nanobind::dict& out, const harness::SharedResult& result,
                const SimulateOptions& options, const topology::Cluster& cluster, bool combines);

}  // namespace alm::bindings

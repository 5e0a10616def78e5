// Checks that a profile (docs/profile.md) is one of this job's network.
#pragma once

#include <string>

#include "job/job.h"
#include "model/profile.h"

namespace alm::session {

// How the job's network differs from the measured one: in hosts, MPI library, rates in the cluster
// file, MTU or time scale. Empty: no known difference.
std::string other_network(const model::Profile& profile, const job::Job& job);

}  // namespace alm::session

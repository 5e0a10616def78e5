// Whether a profile (docs/profile.md) is one of this job's network.
#pragma once

#include <string>

#include "model/profile.h"
#include "mpi/job.h"

namespace alm::mpi {

// How the network of the job is another than the one that was measured: in hosts, MPI library,
// rates by the cluster file, MTU or time scale. Empty: it is not, as far as both are known.
std::string other_network(const model::Profile& profile, const Job& job);

}  // namespace alm::mpi

// Holds the cluster file against what the job has met: round trips between its hosts
// (meeting/round_trip_check.h), and windows that lost packets although the file's queues hold them.
// Warns of lines that are wrong, and changes nothing.
#pragma once

#include "job/job.h"

namespace alm::communicator {

// Collective over `world`, MPI_COMM_WORLD, when all exchanges are over: questions find empty
// queues. Takes some round trips, half a second at most.
void check_description(job::Job& job, job::CommHandle world);

}  // namespace alm::communicator

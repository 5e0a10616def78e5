// What a job tells of its exchanges.
#pragma once

#include "job/job.h"
#include "job/ops.h"

namespace alm::session {

// Rank 0 is to give the reason, once, before its abort ends the others; where it runs without
// allemande a few others may.
void let_lower_ranks_abort_first(const job::Job& job);

// Gathers the counters of all ranks, and writes the file of ALLEMANDE_STATS. Collective.
void write_stats(job::Job& job, job::MpiOps& mpi);

}  // namespace alm::session

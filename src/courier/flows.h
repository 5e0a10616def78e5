// How fast exchanges are sent within sites and between them: over UDP, and as messages of the MPI
// library.
#pragma once

#include "carrier/point_to_point.h"
#include "execute/configuration.h"
#include "job/job.h"
#include "meeting/members.h"

namespace alm::courier {

// Windows and timers of phases, over UDP.
execute::PhaseConfiguration site_phases(const job::Job& job, const meeting::Members& members);

// For messages; equal on all ranks.
messages::MessageFlow message_flow(const job::Job& job, const meeting::Members& members);
// The same for a phase between sites.
messages::MessageFlow far_message_flow(const job::Job& job, const meeting::Members& members,
                                       const plan::Phase& phase);

}  // namespace alm::courier

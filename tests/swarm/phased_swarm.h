// A swarm whose ranks carry out plans of several phases: each runs an execute::Execution, which
// blocks, as a process does, over channels on the seeded network and over the memory of its host.
#pragma once

#include "event_loop.h"
#include "phased_scenario.h"

namespace alm::swarm {

Outcome run(const PhasedScenario& scenario);

}  // namespace alm::swarm

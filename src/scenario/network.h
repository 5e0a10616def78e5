// The network of a scenario: routes, queues, hosts and their cards, faults.
#pragma once

#include "base/result.h"
#include "scenario/scenario.h"
#include "topology/cluster.h"

namespace alm::scenario {

base::Status set_network(const topology::Cluster& cluster, Scenario& out);

}  // namespace alm::scenario

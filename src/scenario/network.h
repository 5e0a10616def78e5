// Options of a simulation that are about the network: routes, queues, hosts and their cards,
// faults.
#pragma once

#include "scenario/reader.h"
#include "scenario/options.h"

namespace alm::bindings {

// Everything but faults. Throws RaisedError, as does read_faults.
void read_network(Reader& reader, const topology::Cluster& cluster, SimulateOptions& out);

// Faults, and modules that the two directions of a link share. Precondition:
// out.network.frame_bytes is set.
void read_faults(Reader& reader, const topology::Cluster& cluster, SimulateOptions& out);

}  // namespace alm::bindings

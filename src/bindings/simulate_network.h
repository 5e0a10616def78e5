// Options of a simulation that are about the network: routes, queues, hosts and their cards,
// faults.
#pragma once

#include "bindings/option_reader.h"
#include "bindings/simulate_options.h"

namespace alm::bindings {

// Everything but faults. Throws RaisedError, like all of these.
void read_network(Reader& reader, const topology::Cluster& cluster, SimulateOptions& out);

// Faults, and modules shared by the two directions of a link. Precondition: out.network.frame_bytes
// is known.
void read_faults(Reader& reader, const topology::Cluster& cluster, SimulateOptions& out);

}  // namespace alm::bindings

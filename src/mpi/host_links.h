// Hosts with several links, by the cluster file.
#pragma once

#include <cstddef>
#include <span>

#include "topology/cluster.h"

namespace alm::mpi {

// The number of the link that a job of these hosts uses where it uses one: of the links that every
// one of them has, with an address or an interface, the one whose slowest is the fastest. The first
// of equals.
std::size_t fastest_link(const topology::Cluster& cluster, std::span<const base::HostId> hosts);

// Of a host, its link of this number.
topology::Host::Nic nic_of(const topology::Host& host, std::size_t link);

}  // namespace alm::mpi

// Hosts in the cluster file, which may have several links.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/ids.h"
#include "topology/cluster.h"

namespace alm::job {

// The cluster file may call hosts by short or full names.
std::optional<base::HostId> find_host(const topology::Cluster& cluster, std::string_view host);

// The link of a port, "leaf0 -> core", as limits and tunings name it; null: there is none.
const topology::Link* find_link(const topology::Cluster& cluster, std::string_view port);

// The link of a host by its number.
topology::Host::Nic nic_of(const topology::Host& host, std::size_t link);

}  // namespace alm::job

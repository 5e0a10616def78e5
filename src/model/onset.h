// How many hosts saturate a network: from then on links between switches, and not host links, are
// the limit of a complete exchange. The contention signature knows nothing of that (003 section
// V.C: fitted below, it is wrong above).
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "topology/cluster.h"

namespace alm::model {

// The least p for which a link between switches is the limit of the first p of `hosts`; nothing:
// host links are the limit for all p.
std::optional<std::uint32_t> saturation_onset(const topology::Cluster& cluster,
                                              std::span<const base::HostId> hosts);

}  // namespace alm::model

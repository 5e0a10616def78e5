// From how many hosts on a network saturates: links between switches become the limit of a complete
// exchange instead of host links. The contention signature knows nothing of that (003 section V.C:
// fitted below, it is wrong above).
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "topology/cluster.h"

namespace alm::model {

// The least p for which the first p of `hosts` are limited by a link between switches; nothing: the
// host links are the limit for all.
std::optional<std::uint32_t> saturation_onset(const topology::Cluster& cluster,
                                              std::span<const base::HostId> hosts);

}  // namespace alm::model

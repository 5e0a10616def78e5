// Finds which hosts are at one site from the round trips between them. Pure: all ranks know the
// same round trips and compute the same.
//
// Hosts of a site are near each other and far from all others: there is a gap between the longest
// round trip within a site and the shortest one between two sites. The widest gap, by ratio, is
// taken if it is wide enough; if not, an error is returned, because a wrong guess would slow down
// every exchange.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "job/sites.h"

namespace alm::meeting {

// Each rank tells the others so many round trips at most.
constexpr std::uint32_t kMeasuredHostsMax = 256;

struct SitesByLatency {
  job::HostSites sites;
  base::Nanos near = 0;      // the longest round trip within a site
  base::Nanos far = 0;       // the shortest between two sites
  base::Nanos farthest = 0;  // the longest between two sites
};

// `round_trips`: [from * hosts + to]; 0: not known. For two hosts the shorter round trip of both
// directions counts. Errors (kBadInput) say what was measured: no gap, two hosts that are near to a
// third one but not to each other, or a host without round trips.
base::Result<SitesByLatency> sites_by_latency(std::span<const base::Nanos> round_trips,
                                              std::span<const std::string> host_names);

}  // namespace alm::meeting

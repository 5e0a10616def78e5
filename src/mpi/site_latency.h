// Which hosts are at one site, by how long packets take between them. Pure: all ranks, which know
// the same times, come to the same.
//
// Hosts of a site are near each other and far from all others: between the longest round trip
// within a site and the shortest between two sites there is a gap. The widest gap, by ratio, is
// taken, if it is wide enough; else nothing is said, because a wrong guess would cost every
// exchange.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "mpi/sites.h"

namespace alm::mpi {

// As many round trips as a rank tells the others.
constexpr std::uint32_t kMeasuredHostsMax = 256;

struct SitesByLatency {
  HostSites sites;
  base::Nanos near = 0;  // the longest round trip within a site
  base::Nanos far = 0;   // the shortest between two
  base::Nanos farthest = 0;
};

// `round_trips`: [from * hosts + to]; 0: not known. Of two hosts the shorter one of both ways
// counts. Errors (kBadInput) say what was measured: no gap, hosts that are near to a third one but
// not to each other, a host of which nothing is known.
base::Result<SitesByLatency> sites_by_latency(std::span<const base::Nanos> round_trips,
                                              std::span<const std::string> host_names);

}  // namespace alm::mpi

// Holds what a cluster file says of leaves and latencies against round trips between idle hosts.
// Only what is out of question counts, because round trips differ for many reasons:
//
//   leaves     Hosts fall into groups: all hosts of a group are nearer to each other than to any
//              other host. A host is on another leaf than the file says if it is near to hosts of
//              other leaves and far from those of its own.
//   latencies  Nothing comes back sooner than the latencies of its way allow. Where no pair of
//              hosts across a link takes less than several times what the file gives, its latency
//              is too low.
//
// Pure: communicator/check_description.cc measures.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "topology/cluster.h"

namespace alm::meeting {

struct FileRemark {
  std::uint32_t line = 0;  // of the cluster file; 0: of no file
  std::string text;
};

// `hosts`: those of the job, by their places in the cluster. `round_trips`: [from * hosts + to]; 0:
// not known.
std::vector<FileRemark> leaf_remarks(const topology::Cluster& cluster,
                                     std::span<const base::HostId> hosts,
                                     std::span<const base::Nanos> round_trips);
std::vector<FileRemark> latency_remarks(const topology::Cluster& cluster,
                                        std::span<const base::HostId> hosts,
                                        std::span<const base::Nanos> round_trips);

// Whether the file says anything that round trips can refute: several leaves, or latencies.
bool can_be_checked(const topology::Cluster& cluster, std::span<const base::HostId> hosts);

}  // namespace alm::meeting

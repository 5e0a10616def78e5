// Tunes the transport for a phase between sites: how fast to send, and how much may be on its way.
//
// The links are loaded evenly during the whole exchange if every rank spreads its packets to other
// sites over T, the time that the busiest link needs. So a full frame leaves every T / n, where n
// is the number of frames that this rank sends: nothing gathers before a wide-area link, and a rank
// need not wait for acknowledgements.
#pragma once

#include <cstdint>
#include <span>

#include "base/ids.h"
#include "plan/plan.h"
#include "plan/tune.h"
#include "topology/cluster.h"

namespace alm::plan {

// A fully loaded link never drains its queue, and acknowledgements add to the load. So T is made
// longer by this factor.
inline constexpr double kFarSpare = 1.015;

struct FarTuning {
  double pace_us = 0;               // between two full frames; 0: nothing to send
  std::uint32_t burst_packets = 1;  // sent at once by a rank that is late
  // The short last packet of a longer block counts as at least this part of a full frame.
  double end_least = 0;
  double round_trip_us = 0;          // between the farthest two hosts, latencies of links alone
  std::uint32_t window_packets = 1;  // a bound, for networks slower than the cluster file says
};

// What the exchange asks of the network, and the phase of this rank.
struct FarLoad {
  double seconds = 0;            // T, see topology::alltoall_limit_seconds
  std::uint64_t wire_bytes = 0;  // that this rank sends in the phase, framing included
};

class FarTuner {
 public:
  // `hosts` and `site_of` lie by rank.
  FarTuner(const topology::Cluster& cluster, std::span<const base::HostId> hosts,
           std::span<const std::uint32_t> site_of);

  // The load of equal blocks of many packets; the pace is the same for all sizes.
  FarLoad equal_load(const Phase& phase) const;
  FarTuning tune(const Phase& phase, const FarLoad& load) const;

 private:
  const topology::Cluster& cluster_;
  double seconds_of_many_ = 0;  // an exchange of kManyPackets in every block
  double host_frame_us_ = 0;    // a full frame on the slowest host link
  double round_trip_us_ = 0;
  std::uint32_t burst_packets_ = 1;
  std::uint32_t host_room_ = 0;  // packets
  double end_least_ = 0;
};

// Whether one receiver gets far more from this rank than others; then it is the same for all
// senders.
bool gathers(const Phase& phase);

// For a phase within a site: as tune() for its members alone. If the phase gathers(), its senders
// share a quarter of what the receiver's port holds, because other sites send to it too. `hosts`
// lies by rank.
Tuning tune_near(const topology::Cluster& cluster, std::span<const base::HostId> hosts,
                 const Phase& phase);

}  // namespace alm::plan

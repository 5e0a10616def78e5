// What the transport is told of a phase between sites: how fast to send, how much may be on its
// way.
//
// The links of an exchange are loaded evenly from its first moment to its last if every rank
// spreads what it sends to other sites over the time that the busiest link needs. So a full frame
// leaves every T / n, with T that time and n the frames this rank has to send: nothing gathers
// before a wide-area link, and nothing needs to come back before more may leave.
#pragma once

#include <cstdint>
#include <span>

#include "base/ids.h"
#include "plan/plan.h"
#include "plan/tune.h"
#include "topology/cluster.h"

namespace alm::plan {

// A link that is asked for all it carries never gets rid of a queue; acknowledgements come on top.
// So T is taken so many times as long.
inline constexpr double kFarSpare = 1.015;

struct FarTuning {
  double pace_us = 0;               // between two full frames; 0: nothing to send
  std::uint32_t burst_packets = 1;  // sent at once by a rank that is late
  // What the short end of a longer block counts for at least, as part of a full frame.
  double end_least = 0;
  double round_trip_us = 0;          // of the links between the farthest two, there and back
  std::uint32_t window_packets = 1;  // on the way at most: for a network slower than it is said
};

// What an exchange asks of the network, and of this rank in the phase.
struct FarLoad {
  double seconds = 0;            // the busiest link needs, as topology::alltoall_limit_seconds
  std::uint64_t wire_bytes = 0;  // this rank sends in the phase, with the framing around them
};

class FarTuner {
 public:
  // `hosts` and `site_of` lie [rank].
  FarTuner(const topology::Cluster& cluster, std::span<const base::HostId> hosts,
           std::span<const std::uint32_t> site_of);

  // Of equal blocks of many packets: the pace is the same for all of them.
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

// One receiver gets far more of this rank than others; it is the same one for all senders.
bool gathers(const Phase& phase);

// Of a phase within a site: as tune() for its members alone. Where all send one of them far more
// than the others, they share a quarter of what its port holds: other sites send to it, too.
// `hosts` lie [rank].
Tuning tune_near(const topology::Cluster& cluster, std::span<const base::HostId> hosts,
                 const Phase& phase);

}  // namespace alm::plan

// A plan says, for one rank, rounds of partners (design section 2). Pure: the same request gives
// the same plan on every rank, without communication, in O(partners) per rank.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/rounds.h"
#include "topology/cluster.h"

namespace alm::plan {

enum class Algorithm {
  kDirect,         // one uncoordinated round: everybody posts everything
  kShiftExchange,  // 002: rounds of (r+i, r-i)
  kPairwise,       // 000 Alg 3: rounds of one edge-colour partner
  kGroupShuffle,   // 002: rounds of omega partners
  kSyncShuffle,    // 000 Alg 1, 2: one round of p-1 partners
};

enum class Permutation { kShift, kXor, kEdgeColouring, kBalanced };

struct Request {
  std::uint32_t ranks = 0;
  base::Rank self;
  Algorithm algorithm = Algorithm::kSyncShuffle;
  // Of the shuffles. Shift exchange is made of shift alone, direct of none; pairwise needs pairs:
  // kXor, and kEdgeColouring for any other.
  Permutation permutation = Permutation::kBalanced;
  bool contention_aware = true;  // remap by the hierarchy (000 Eq 5); kBalanced knows it by itself
  std::uint32_t omega = 0;       // group shuffle: partners per round; 0: default_omega(ranks)
  // Position of each rank's host: group_of[l][rank], l=0 the leaf (topology::Hierarchy of the
  // participants). Empty: one switch.
  std::vector<std::vector<std::uint32_t>> group_of;
};

struct Plan {
  Algorithm algorithm = Algorithm::kSyncShuffle;
  Permutation permutation = Permutation::kBalanced;  // the one used; of no meaning for kDirect
  std::uint32_t ranks = 0;
  base::Rank self;
  // Idle steps and rounds without partners are left out. Over all rounds each other rank appears
  // once in send and once in recv.
  base::Rounds rounds;
};

base::Result<Plan> make_plan(const Request& request);

// ceil(log2 p) + 1, at most p-1: gives the 5 and 4 that 002 found best for 16 and 8 hosts.
std::uint32_t default_omega(std::uint32_t ranks);

// Unknown names give an error that lists the valid ones.
base::Result<Algorithm> parse_algorithm(std::string_view name);
base::Result<Permutation> parse_permutation(std::string_view name);
std::string_view name_of(Algorithm algorithm);      // "sync-shuffle", ...
std::string_view name_of(Permutation permutation);  // "balanced", ...

// What the transport needs to know about the network, from the cluster file (reference section 3).
// Every port in the network that packets of the exchange queue at is looked at; the one that allows
// the smallest window counts. A host's own queue is left out: it stops its sender, it loses
// nothing.
struct Tuning {
  double nu = 1;  // packets per step towards the most contended port (Eq 3)
  // The window to use. floor(B_L / nu) (Eq 4), acks riding on data. Where nu * c1 > c2 the uplink
  // itself is the limit and everything outstanding can gather at it: then floor(B_L / d1). Ports
  // that cannot fill up do not count (tune.cc).
  std::uint32_t window_packets = 1;
  // An exchange in which no rank sends more packets than this needs no window: it fits the queues.
  std::uint32_t burst_packets = 0;
  std::uint32_t window_with_acks = 1;    // floor(B_L / 2 nu): every packet acknowledged by one
  std::uint32_t window_packets_min = 1;  // ceil(L / g): below it the window costs bandwidth
  std::uint32_t grain_packets = 1;       // train length from rate and window
  double host_rate_mbit_s = 0;           // the slowest participant's host link
  double packet_time_us = 0;             // one full frame on that link
  std::uint32_t mtu_bytes = 1500;
  double latency_us = 0;              // L: one full frame over the longest way, idle network
  std::string contended_port;         // "leaf0 -> core", with the queue that gives the window
  std::vector<std::string> warnings;  // where window and network do not go together
};
Tuning tune(const topology::Cluster& cluster, std::span<const base::HostId> hosts);

}  // namespace alm::plan

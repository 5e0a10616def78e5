// A plan says, for one rank, rounds of partners (design section 2). Pure: the same request gives the
// same plan on every rank, without communication, in O(partners) per rank.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
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
  Permutation permutation = Permutation::kBalanced;
  bool contention_aware = true;  // remap by the hierarchy (000 Eq 5); kBalanced knows it by itself
  std::uint32_t omega = 0;       // group shuffle; 0 picks a default
  // Position of each rank's host: group_of[l][rank], l=0 the leaf (topology::Hierarchy of the
  // participants). Empty: one switch.
  std::vector<std::vector<std::uint32_t>> group_of;
};

struct Plan {
  Algorithm algorithm = Algorithm::kSyncShuffle;
  std::uint32_t ranks = 0;
  base::Rank self;
  // Round i sends to send[send_begin[i] .. send_begin[i+1]) in this order, item by item, and is
  // complete when everything from recv[recv_begin[i] .. recv_begin[i+1]) has come as well.
  // Idle steps are left out. Over all rounds each other rank appears once in send and once in recv.
  std::vector<base::Rank> send, recv;
  std::vector<std::uint32_t> send_begin, recv_begin;  // rounds() + 1 entries each
  bool interleaved = true;  // items of a round's partners alternate; false: block after block

  std::size_t rounds() const { return send_begin.empty() ? 0 : send_begin.size() - 1; }
};

base::Result<Plan> make_plan(const Request& request);

// Unknown names give an error that lists the valid ones.
base::Result<Algorithm> parse_algorithm(std::string_view name);
base::Result<Permutation> parse_permutation(std::string_view name);
std::string_view name_of(Algorithm algorithm);      // "sync-shuffle", ...
std::string_view name_of(Permutation permutation);  // "balanced", ...

// What the transport needs to know about the network, from the cluster file (reference section 3).
struct Tuning {
  double nu = 1;                          // packets per step towards the most contended port (Eq 3)
  std::uint32_t window_packets = 0;       // W_g = floor(B_L / nu), at least 1 (Eq 4)
  std::uint32_t window_with_acks = 0;     // nu doubled: acks counted as packets
  std::uint32_t grain_packets = 1;        // train length from rate and buffer
  double host_rate_mbit_s = 0;            // the slowest participant's host link
  double packet_time_us = 0;              // one full frame on that link
  std::uint32_t mtu_bytes = 1500;
};
Tuning tune(const topology::Cluster& cluster, std::span<const base::HostId> hosts);

}  // namespace alm::plan

// A complete exchange as fluid flows: no packets, queues or losses, every flow at its max-min fair
// rate. It is orders of magnitude faster than packets, and right where links and rounds alone
// decide: large messages on networks that lose nothing.
//
// Free rounds: each rank goes on to its next round when all of its round has been sent and
// received, as in the protocol; rates are computed anew whenever a flow starts or ends. Rounds
// together: all ranks enter a round at once. Then flows of one size need no rates: the flows over
// the resource with the most bytes per capacity share it equally and have the smallest rate of all
// until they end; so they end last, at bytes / capacity, and the round with them. With a single
// round both are the same.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "routing/routes.h"
#include "topology/cluster.h"

namespace alm::sim {

// The ranks that a rank sends to, or receives from, in a round; valid until the next call.
using FlowRound = std::function<std::span<const base::Rank>(base::Rank rank, std::uint32_t round)>;

enum class FlowRounds : std::uint8_t { kChoose, kFree, kTogether };

// More flows than this in free rounds would take minutes.
inline constexpr std::uint64_t kFreeFlowsMax = 120'000;

struct FlowRequest {
  std::vector<base::HostId> participants;  // by rank
  routing::Rule routing = routing::Rule::kDModK;
  std::uint32_t rounds = 1;
  FlowRound sends, receives;  // not called for a single round, in which all send to all
  FlowRounds mode = FlowRounds::kChoose;
  std::uint64_t wire_bytes = 0;         // per ordered pair, framing and headers included
  std::uint64_t packet_wire_bytes = 0;  // of a full packet, for store-and-forward delays
  double overhead_s = 0;                // O_s + O_r + U_r, once per round
  // Gets the part that is done, 0 to 1; false stops the run.
  std::function<bool(double)> progress;
};

struct FlowPortLoad {
  std::uint32_t port = 0;  // routing's number
  std::string name;        // "leaf0 -> core"
  double bytes = 0;
  double busy = 0;  // bytes / rate, as a part of the exchange's time
};

struct FlowResult {
  double seconds = 0;
  std::vector<double> rank_seconds;
  std::vector<FlowPortLoad> ports;  // all that carried anything, in link order
  // The resource with the most bytes per capacity: "leaf0 -> core", "core - leaf0, both ways" or
  // "leaf0 backplane".
  std::string bottleneck;
  bool together = false;
  std::uint64_t flows = 0;
  std::uint64_t fillings = 0;  // how often rates were computed
};

// kBadInput: the request makes no sense; kUnsupported: progress() stopped it.
base::Result<FlowResult> simulate_flows(const topology::Cluster& cluster,
                                        const FlowRequest& request);

}  // namespace alm::sim

// A complete exchange as fluid flows: no packets, queues or losses, every flow at its max-min fair
// rate. Orders of magnitude faster than packets, and right where the links and the rounds decide:
// large messages on networks that lose nothing.
//
// Rounds. Free: each rank goes on to its next round when all of the round has been sent and
// received, as the protocol does; rates are filled anew whenever a flow starts or ends. Together:
// all ranks enter a round at once. Then no filling is needed, for flows of one size: the flows of
// the resource with the most bytes per capacity have, until they end, the smallest rate of all and
// an equal one, so they end last, all at bytes / capacity, and so does the round. A single round is
// the same either way.
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

// The ranks a rank sends to, or receives from, in a round of its own; valid until the next call.
using FlowRound = std::function<std::span<const base::Rank>(base::Rank rank, std::uint32_t round)>;

enum class FlowRounds : std::uint8_t { kChoose, kFree, kTogether };

// More flows than this in free rounds would take minutes.
inline constexpr std::uint64_t kFreeFlowsMax = 120'000;

struct FlowRequest {
  std::vector<base::HostId> participants;  // by rank
  routing::Rule routing = routing::Rule::kDModK;
  std::uint32_t rounds = 1;
  FlowRound sends, receives;  // not called for one round: that is everybody to everybody
  FlowRounds mode = FlowRounds::kChoose;
  std::uint64_t wire_bytes = 0;         // per ordered pair, framing and headers included
  std::uint64_t packet_wire_bytes = 0;  // a full packet: what store-and-forward waits for
  double overhead_s = 0;                // O_s + O_r + U_r, once per round
  // Told the part that is done, 0 to 1; false stops the run.
  std::function<bool(double)> progress;
};

struct FlowPortLoad {
  std::uint32_t port = 0;  // routing's number
  std::string name;        // "leaf0 -> core"
  double bytes = 0;
  double busy = 0;  // part of the exchange during which it would be full
};

struct FlowResult {
  double seconds = 0;
  std::vector<double> rank_seconds;
  std::vector<FlowPortLoad> ports;  // all that carried anything, in link order
  // What had the most to do: "leaf0 -> core", "core - leaf0, both ways" or "leaf0 backplane".
  std::string bottleneck;
  bool together = false;
  std::uint64_t flows = 0;
  std::uint64_t fillings = 0;  // how often rates were computed
};

// kBadInput for a request that makes no sense, kUnsupported where progress() stopped it.
base::Result<FlowResult> simulate_flows(const topology::Cluster& cluster,
                                        const FlowRequest& request);

}  // namespace alm::sim

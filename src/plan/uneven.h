// The steps of an exchange whose blocks differ: in which step each packet is sent, so that no host
// port and no uplink gets more than it carries. Pure, like plan.h: every rank that knows all sizes
// computes its own part.
//
// The loads are written as weighted matchings (schedule/decompose.h), and the matchings are spread
// evenly over the steps. If an uplink needs longer than any host port, steps in which nobody sends
// are spread among them. So every link, the busiest included, is loaded evenly from the first step
// to the last.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/rounds.h"
#include "plan/plan.h"

namespace alm::plan {

using base::Train;

struct Uneven {
  std::vector<Train> send, recv;  // by step
  std::uint64_t steps = 0;        // of the exchange, equal on all ranks
};

struct UnevenRequest {
  std::uint32_t ranks = 0;  // >= 2
  base::Rank self;
  std::span<const std::uint64_t> bytes;  // [from * ranks + to]
  std::uint32_t packet_bytes = 1448;     // of payload in a packet
  std::uint32_t grain_packets = 1;       // no train but the last of a block is shorter
  // Steps that the busiest link needs; 0: only the ports of the hosts count.
  std::uint64_t link_steps = 0;
};

// O(ranks^2) memory, about O(ranks^3) time: see uneven_pays().
Uneven make_uneven(const UnevenRequest& request);

// Gives every direct phase of a plan the steps of its partners. Precondition: `steps` are those of
// plan.self.
void set_steps(Plan& plan, const Uneven& steps);

// Whether steps are worth computing: the fullest port has much more to carry than the average one,
// and there are not too many ranks.
constexpr std::uint32_t kUnevenRanksMax = 256;
bool uneven_pays(std::span<const std::uint64_t> bytes, std::uint32_t ranks);

// Whether no two blocks meet at a host's port: each rank has at most one to send and one to
// receive. Nothing has to be kept apart there, and no queue fills up where the uplinks carry it as
// well.
bool unshared(std::span<const std::uint64_t> bytes, std::uint32_t ranks);

}  // namespace alm::plan

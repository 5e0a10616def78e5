// The steps of an exchange whose blocks differ: when each packet is sent so that no host port and
// no uplink is asked for more than it carries. Pure, like plan.h: every rank that knows all sizes
// makes its own part alone.
//
// The loads are written as weighted matchings (schedule/decompose.h), and the matchings are dealt
// out evenly over the steps, each pair's packets with them; where an uplink needs longer than any
// host port, steps in which nobody sends are dealt out among them. So every link is loaded evenly
// from the first step to the last, whichever is the busiest.
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
  std::uint32_t packet_bytes = 1448;     // of blocks, in a packet
  std::uint32_t grain_packets = 1;       // no train is shorter, but the last of a block
  // Steps the busiest link needs; 0 where only the ports of the hosts count.
  std::uint64_t link_steps = 0;
};

// O(ranks^2) memory, about O(ranks^3) time: see uneven_pays().
Uneven make_uneven(const UnevenRequest& request);

// Gives every direct phase of a plan the steps with its partners. Precondition: `steps` are those
// of plan.self.
void set_steps(Plan& plan, const Uneven& steps);

// Whether the blocks differ enough for a plan of their own to be worth its making: the fullest port
// has much more to carry than the average one, and there are not too many ranks.
constexpr std::uint32_t kUnevenRanksMax = 256;
bool uneven_pays(std::span<const std::uint64_t> bytes, std::uint32_t ranks);

}  // namespace alm::plan

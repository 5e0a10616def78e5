// Exchanges of a communicator with several ranks per host: the schedule runs over hosts, one
// message per pair of them, which holds the blocks of every pair of their ranks, ordered by
// destination, then by origin. Ranks put their blocks into the memory of the host and take theirs
// out of it; blocks between ranks of one host stay there. What is more than the memory holds goes
// in slabs, a piece of every block in each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "carrier/udp_carrier.h"
#include "carrier/uneven_steps.h"
#include "node/node.h"
#include "plan/placement.h"
#include "transport/channel.h"

namespace alm::carrier {

class NodeExchange {
 public:
  // `carrier` is the leader's, one member per host; null on other ranks. It outlives this.
  NodeExchange(std::unique_ptr<node::Node> node, plan::Placement placement, std::uint32_t self,
               UdpCarrier* carrier);

  // Blocks of `bytes`, the rank's own left alone. `combining`: a plan of the hosts.
  base::Status alltoall(const std::byte* send, std::byte* recv, std::uint64_t bytes,
                        std::optional<std::size_t> combining);
  // Of any sizes. kBadInput: two ranks do not agree on one. All ranks end with it then, in this
  // call; where several pairs differ, not all name the same.
  base::Status alltoall_blocks(const transport::ConstBlocks& send,
                               const transport::MutableBlocks& recv);

  // The leader's; must live as long as this. Messages of different sizes then go in steps.
  void make_steps_by(UnevenSteps& counts) { counts_ = &counts; }

  node::Node& node() { return *node_; }
  // How much of every block of an alltoall is in a slab.
  std::uint64_t piece_bytes() const;

 private:
  std::unique_ptr<node::Node> node_;
  plan::Placement placement_;
  std::uint32_t self_;
  UdpCarrier* carrier_;
  UnevenSteps* counts_ = nullptr;
  std::uint64_t step_ = 0;   // the next
  std::uint64_t calls_ = 0;  // of alltoall_blocks
};

}  // namespace alm::carrier

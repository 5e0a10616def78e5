// Exchanges of a communicator with several ranks per host: the schedule runs over hosts, one
// message per pair of them, which holds the blocks of every pair of their ranks, ordered by
// destination, then by origin. Ranks put their blocks into the memory of the host and take theirs
// out of it; blocks between ranks of one host stay there. What is more than the memory holds goes
// in slabs, a piece of every block in each.
//
// Several leaders of a host may share an exchange: each carries a slice of every message, which the
// leader of the same number on the other host takes. Where all ranks are leaders, each sends its
// blocks from where they are and receives them where they belong; only blocks within a host go
// through its memory.
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
  // `carrier` is a leader's, one member per host; null on other ranks. It outlives this. `leaders`:
  // so many of each host share an exchange that is shared.
  NodeExchange(std::unique_ptr<node::Node> node, plan::Placement placement, std::uint32_t self,
               UdpCarrier* carrier, std::uint32_t leaders = 1);

  // Between hosts: in phases that combine, or by all leaders; else by the host leaders.
  struct Course {
    std::optional<std::size_t> combining{};  // a plan of the hosts
    bool shared = false;
  };
  // Blocks of `bytes`, the rank's own left alone.
  base::Status alltoall(const std::byte* send, std::byte* recv, std::uint64_t bytes,
                        const Course& course);
  // Of any sizes. kBadInput: two ranks do not agree on one. All ranks end with it then, in this
  // call; where several pairs differ, not all name the same. `shared`: by all leaders, where some
  // host has enough to send or to receive.
  base::Status alltoall_blocks(const transport::ConstBlocks& send,
                               const transport::MutableBlocks& recv, bool shared);

  // A leader's; must live as long as this. Messages of different sizes then go in steps.
  // `of_slices`: of those that are shared.
  void make_steps_by(UnevenSteps* counts, UnevenSteps* of_slices) {
    counts_ = counts;
    of_slices_ = of_slices;
  }

  node::Node& node() { return *node_; }
  // How much of every block of an alltoall is in a slab.
  std::uint64_t piece_bytes() const;

 private:
  std::unique_ptr<node::Node> node_;
  plan::Placement placement_;
  std::uint32_t self_;
  UdpCarrier* carrier_;
  std::uint32_t leaders_;
  UnevenSteps* counts_ = nullptr;
  UnevenSteps* of_slices_ = nullptr;
  std::uint64_t step_ = 0;   // the next
  std::uint64_t calls_ = 0;  // of alltoall_blocks
};

}  // namespace alm::carrier

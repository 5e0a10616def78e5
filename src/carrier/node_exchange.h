// Exchanges of a communicator with several ranks per host. The schedule runs over hosts, with one
// message per pair of hosts: it holds the blocks of every pair of their ranks, ordered by
// destination, then by origin. Ranks put the blocks they send into the memory of the host and take
// those they receive out of it; blocks between ranks of one host stay there. Exchanges that are
// larger than the memory go in slabs, with a piece of every block in each.
//
// Several leaders of a host may share an exchange: each carries a slice of every message to the
// leader of the same number on the other host. Where all ranks are leaders, each sends its blocks
// from where they are and receives them where they belong; only blocks within a host go through its
// memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "carrier/node_blocks.h"
#include "carrier/udp_group.h"
#include "carrier/uneven_steps.h"
#include "node/node.h"
#include "plan/placement.h"
#include "transport/channel.h"

namespace alm::carrier {

class NodeExchange {
 public:
  // `group` has one member per host; it is null on ranks that lead nobody, and must outlive this.
  // `leaders` of each host take part in shared exchanges.
  NodeExchange(std::unique_ptr<node::Node> node, plan::Placement placement, std::uint32_t self,
               UdpGroup* group, std::uint32_t leaders = 1);

  // How an exchange goes between hosts: in phases that combine, or shared by all leaders; else in
  // the rounds of the host leaders.
  struct BetweenHosts {
    std::optional<std::size_t> combining{};  // a plan of the hosts
    bool shared = false;
  };
  // Exchanges blocks of `bytes`; the rank's own is left alone.
  base::Status alltoall(const std::byte* send, std::byte* recv, std::uint64_t bytes,
                        const BetweenHosts& between_hosts);
  // Exchanges blocks of any sizes. kBadInput: two ranks do not agree on a size. All ranks fail in
  // this call then; where several pairs differ, ranks may name different ones. `shared`: all
  // leaders take part if some host has enough to send or to receive.
  base::Status alltoall_blocks(const transport::ConstBlocks& send,
                               const transport::MutableBlocks& recv, bool shared);
  // The same among neighbours: if one slab is enough for them all, nothing goes to other hosts.
  // `most`, equal on all ranks: no rank sends or receives more; 0: not known.
  base::Status alltoall_neighbours(const transport::ConstBlocks& send,
                                   const transport::MutableBlocks& recv, std::uint64_t most,
                                   bool shared);

  // On leaders: messages of different sizes then go in steps; `of_slices` makes those of shared
  // messages. Both must outlive this.
  void make_steps_by(UnevenSteps* counts, UnevenSteps* of_slices) {
    counts_ = counts;
    of_slices_ = of_slices;
  }

  node::Node& node() { return *node_; }
  // How much of every block of an alltoall is in a slab.
  std::uint64_t piece_bytes() const;

 private:
  base::Status run_blocks(const transport::ConstBlocks& send, const transport::MutableBlocks& recv,
                          const NodeNetwork& network);

  std::unique_ptr<node::Node> node_;
  plan::Placement placement_;
  std::uint32_t self_;
  UdpGroup* group_;
  std::uint32_t leaders_;
  UnevenSteps* counts_ = nullptr;
  UnevenSteps* of_slices_ = nullptr;
  std::uint64_t turn_ = 0;   // the next
  std::uint64_t calls_ = 0;  // of alltoall_blocks
};

}  // namespace alm::carrier

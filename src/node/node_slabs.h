// Data on their way through the memory of a host, slab after slab: while its leaders exchange one
// with the other hosts, the other ranks take the one before and put in the one after.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "node/node.h"
#include "plan/placement.h"

namespace alm::node {

constexpr std::uint64_t kNodeSlabBytes = 16u << 20;
// A message between hosts may begin with so much that is no data (carrier/node_blocks.h).
constexpr std::uint64_t kMessageHeadBytes = 32;

// The same slabs on every host; `slab_bytes_min` is kNodeSlabBytes but in tests.
NodeShape node_shape(const plan::Placement& placement, std::uint32_t host,
                     std::uint64_t slab_bytes_min);

// What one rank does with the slabs of one call.
class SlabData {
 public:
  virtual ~SlabData() = default;
  virtual void copy_in(std::uint64_t slab, std::byte* send) = 0;
  // By every leader of the call, when all have copied in.
  virtual base::Status exchange(std::uint64_t slab, std::byte* send, std::byte* recv) = 0;
  // For want of which rank that has failed, as Node::fail has it.
  virtual std::optional<std::uint32_t> lost() const { return std::nullopt; }
  // `send` holds what ranks of the same host exchange.
  virtual void copy_out(std::uint64_t slab, const std::byte* send, const std::byte* recv) = 0;
};

// Takes `slabs` turns from `turn` on, which moves. What fails for one rank of the host fails for
// all.
base::Status run_slabs(Node& node, SlabData& data, std::uint64_t slabs, const NodeCall& call,
                       std::uint64_t& turn);

}  // namespace alm::node

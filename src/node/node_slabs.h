// Takes data through the memory of a host, slab after slab: while the leaders exchange one slab
// with other hosts, the other ranks copy out the slab before and copy in the slab after it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "node/node.h"
#include "plan/placement.h"

namespace alm::node {

constexpr std::uint64_t kNodeSlabBytes = 16u << 20;
// A message between hosts may begin with a head of this size (carrier/node_blocks.h).
constexpr std::uint64_t kMessageHeadBytes = 32;

// Gives the same slabs on every host; `slab_bytes_min` is kNodeSlabBytes except in tests.
NodeShape node_shape(const plan::Placement& placement, std::uint32_t host,
                     std::uint64_t slab_bytes_min);

// What one rank does with the slabs of one call.
class SlabData {
 public:
  virtual ~SlabData() = default;
  virtual void copy_in(std::uint64_t slab, std::byte* send) = 0;
  // Called on every leader of the call when all ranks have copied in.
  virtual base::Status exchange(std::uint64_t slab, std::byte* send, std::byte* recv) = 0;
  // The lost rank for which exchange() has failed (see Node::fail).
  virtual std::optional<std::uint32_t> lost() const { return std::nullopt; }
  // `send` holds the blocks between ranks of the same host.
  virtual void copy_out(std::uint64_t slab, const std::byte* send, const std::byte* recv) = 0;
};

// Takes `slabs` turns from `turn` on, and advances `turn`. An error of one rank of the host fails
// all.
base::Status run_slabs(Node& node, SlabData& data, std::uint64_t slabs, const NodeCall& call,
                       std::uint64_t& turn);

}  // namespace alm::node

// Where the ranks of an exchange sit: below which leaf, which switch above it, and so on up.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/result.h"

namespace alm::schedule {

class Grouping {
 public:
  // leaf_of[l][rank], l = 0 the leaf; labels are arbitrary. Partitions must be nested: ranks that
  // share a group share the group above it. A level with a single group of all ranks says nothing
  // and is dropped; no level at all means one switch.
  static base::Result<Grouping> make(std::uint32_t ranks,
                                     std::span<const std::vector<std::uint32_t>> leaf_of);
  static Grouping one_switch(std::uint32_t ranks);

  std::uint32_t ranks() const { return static_cast<std::uint32_t>(order_.size()); }
  std::size_t levels() const { return begins_.size(); }  // 0: one switch

  // Ranks in hierarchical order: each group of each level is contiguous. position() is the inverse.
  std::span<const base::Rank> order() const { return order_; }
  std::span<const std::uint32_t> position() const { return position_; }

  // First positions of the groups of a level, and ranks() as last entry.
  std::span<const std::uint32_t> begins(std::size_t level) const { return begins_[level]; }
  std::size_t groups(std::size_t level) const { return begins_[level].size() - 1; }

  // There is one level, and its groups have the same size.
  bool equal_leaves() const;

 private:
  std::vector<base::Rank> order_;
  std::vector<std::uint32_t> position_;
  std::vector<std::vector<std::uint32_t>> begins_;  // finest level first
};

}  // namespace alm::schedule

// The complete exchange in a few phases that combine messages, for small blocks, where a packet
// costs more than the bytes in it (message combining on a mesh, known from hypercubes: one phase
// per dimension). The ranks stand in a grid. In the phase of a dimension each rank exchanges with
// those that differ from it in that coordinate alone; one message to each of them holds all blocks
// that must go there next. A rank sends the sum of (length - 1) messages instead of p - 1, and
// every byte travels at most once per dimension. A phase is a complete exchange within a line of
// the grid, so that acknowledgements ride on data as in any other.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"

namespace alm::plan {

constexpr std::size_t kGridDimensionsMax = 5;

struct Grid {
  // The first dimension is the one along which neighbours are nearest. Rank at[i] has coordinate i
  // / stride(d) % lengths[d] in dimension d.
  std::vector<std::uint32_t> lengths;
  std::vector<base::Rank> at;
  std::uint32_t place = 0;  // of self in `at`

  std::size_t dimensions() const { return lengths.size(); }
  std::uint32_t stride(std::size_t dimension) const;
  std::uint32_t coordinate(std::uint32_t index, std::size_t dimension) const {
    return index / stride(dimension) % lengths[dimension];
  }
  // The ranks of self's line along a dimension, by coordinate.
  std::vector<base::Rank> line(std::size_t dimension) const;
};

// One grid for each number of dimensions from 2 to kGridDimensionsMax that the divisors of `ranks`
// allow: the one with the fewest messages. Among equals one whose lines along the first dimension
// stay within a leaf, then one with the longest such lines. `leaf_of` as in Request.
std::vector<Grid> make_grids(std::uint32_t ranks, base::Rank self,
                             std::span<const std::vector<std::uint32_t>> leaf_of);

}  // namespace alm::plan

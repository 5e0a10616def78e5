// The complete exchange in two phases with messages combined, for small blocks, where every packet
// costs more than the bytes in it. The ranks stand in a grid. First each rank sends to each of its
// row, in one message, the blocks for that rank's whole column; then each rank sends to each of its
// column what its row handed it for there. (columns - 1) + (rows - 1) messages take the place of
// p - 1, and every byte travels at most twice. Each phase is a complete exchange within a row or a
// column, so that acknowledgements ride on data as in any other.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/ids.h"

namespace alm::plan {

struct Grid {
  std::uint32_t rows = 0, columns = 0;
  std::uint32_t row = 0, column = 0;  // of self
  std::vector<base::Rank> at;         // at[row * columns + column]

  base::Rank rank_at(std::uint32_t r, std::uint32_t c) const { return at[r * columns + c]; }
};

// The grid with the fewest messages; among equals rows that stay within one leaf switch, then the
// longest rows. `group_of` as in Request. Nothing where the number of ranks has no divisors.
std::optional<Grid> make_grid(std::uint32_t ranks, base::Rank self,
                              std::span<const std::vector<std::uint32_t>> group_of);

// Whether the grid is worth it for blocks of `bytes`, with `packet_bytes` of them in a packet:
// less than half the packets, and not much more on the wire.
bool grid_pays(const Grid& grid, std::uint64_t bytes, std::uint32_t packet_bytes);

}  // namespace alm::plan

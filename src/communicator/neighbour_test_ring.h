// For tests: a topology of neighbours.
#pragma once

#include <cstdint>
#include <vector>

#include "job/ops.h"

namespace alm::communicator {

// A ring of `ranks`, each with the one before it and the one after it; the last `alone` have none.
inline std::vector<job::Neighbours> ring(std::uint32_t ranks, std::uint32_t alone) {
  std::vector<job::Neighbours> all(ranks + alone);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const std::uint32_t left = (rank + ranks - 1) % ranks;
    const std::uint32_t right = (rank + 1) % ranks;
    all[rank].to = {left, right};
    all[rank].from = {{left, 1}, {right, 0}};
  }
  return all;
}

}  // namespace alm::communicator

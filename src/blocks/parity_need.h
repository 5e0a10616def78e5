// How many parities the blocks of an exchange should have, by what losses cost without them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "blocks/parity_code.h"

namespace alm::blocks {

struct ParityCosts {
  double lost = 0;     // part of the packets that is lost
  double exposed = 0;  // packets of a block whose loss would be found after the block has ended
  double blocks = 0;   // of all ranks: the exchange waits for the last of them
  double parity = 0;   // time that one parity for every block takes
  double missed = 0;   // time that one packet takes that is found out about and sent again
};

// The probability that more than `allowed` of `packets` are lost.
inline double more_lost(double lost, double packets, std::uint32_t allowed) {
  double term = std::pow(1 - lost, packets), none = 0;  // of exactly k
  for (std::uint32_t k = 0; k <= allowed; ++k) {
    none += term;
    term *= std::max(0.0, packets - k) / (k + 1) * lost / (1 - lost);
  }
  return std::max(0.0, 1 - none);
}

// The number with which the time that is expected beyond that of the blocks is the least; 0 where
// nothing is lost. Losses are taken for independent.
inline std::uint32_t parities_needed(const ParityCosts& costs) {
  if (costs.lost <= 0 || costs.lost >= 1) return 0;
  std::uint32_t best = 0;
  double least = 0;
  for (std::uint32_t parities = 0; parities <= kParitiesMax; ++parities) {
    const double one = more_lost(costs.lost, costs.exposed + parities, parities);
    const double any = -std::expm1(costs.blocks * std::log1p(-std::min(one, 1 - 1e-12)));
    const double time = parities * costs.parity + any * costs.missed;
    if (parities == 0 || time < least) {
      least = time;
      best = parities;
    }
  }
  return best;
}

}  // namespace alm::blocks

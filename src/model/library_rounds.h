// The rounds of algorithms of MPI libraries. Where links idle in some rounds and are crowded in
// others, the rounds take longer, one after the other, than a complete exchange needs.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "model/exchange_shape.h"
#include "model/link_bound.h"

namespace alm::model {

// `candidate` is named as in `allemande bench`. In round k of "openmpi:pairwise", and of
// "mpich:pairwise" where the number of ranks is no power of two, rank r sends to r + k; in
// "mpich:pairwise" among a power of two, r and r xor k exchange. Empty: the rounds of this
// candidate are not known.
std::vector<Round> library_rounds(std::string_view candidate, std::uint32_t ranks);

// The time the links need for these rounds, divided by that of a complete exchange; the same for
// all sizes of blocks. 1 where no rounds are known, and where links form no tree.
double rounds_over_complete(std::string_view candidate, const LinkBound& links,
                            std::uint32_t ranks);

}  // namespace alm::model

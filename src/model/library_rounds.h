// Rounds in which MPI libraries carry out algorithms of theirs. Links that idle in some rounds and
// are crowded in others make the rounds take longer, one after the other, than a complete exchange
// needs.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "model/course.h"
#include "model/link_bound.h"

namespace alm::model {

// `candidate`: as `allemande bench` names it. Of "openmpi:pairwise", and of "mpich:pairwise" where
// the ranks are no power of two, round k sends from r to r + k; of "mpich:pairwise" among a power
// of two r and r xor k exchange. Empty: the rounds of this candidate are not known.
std::vector<Round> library_rounds(std::string_view candidate, std::uint32_t ranks);

// What the links need for these rounds over what they need for a complete exchange. It is the same
// for all sizes of blocks. 1 where no rounds are known, and where links form no tree.
double rounds_over_complete(std::string_view candidate, const LinkBound& links,
                            std::uint32_t ranks);

}  // namespace alm::model

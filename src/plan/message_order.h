// The orders in which an exchange goes over MPI messages. They are those of MPI libraries, so that
// we can match whichever is best on a network.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/ids.h"
#include "plan/plan.h"

namespace alm::plan {

enum class MessageOrder : std::uint8_t {
  kPairwise,  // rounds of one partner: send to self + i, receive from self - i
  kFew,       // one round of all partners, a few messages outstanding at once
  kAll,       // one round, everything posted at once
  kBruck,     // combined in ceil(log2 p) phases, for tiny blocks
};

std::string_view name_of(MessageOrder order);  // "pairwise", "few at a time", ...
Plan plan_of(MessageOrder order, std::uint32_t ranks, base::Rank self);

}  // namespace alm::plan

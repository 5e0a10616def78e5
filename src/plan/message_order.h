// The orders in which an exchange goes over MPI messages. They are those of MPI libraries, so that
// we can match whichever is best on a network.
#pragma once

#include <cstddef>
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
  kExchange,  // rounds of one partner, self xor i: both send to each other. For powers of two
  kMany,      // one round, kManySends messages outstanding at once
};
constexpr std::size_t kMessageOrders = 6;
constexpr std::uint32_t kManySends = 32;  // MPICH's window, where nothing else is set

// Whether this order is there for so many ranks, and is none of those before it.
bool is_of_its_own(MessageOrder order, std::uint32_t ranks);

std::string_view name_of(MessageOrder order);  // "pairwise", "few at a time", ...
// Precondition: kExchange for powers of two alone.
Plan plan_of(MessageOrder order, std::uint32_t ranks, base::Rank self);

}  // namespace alm::plan

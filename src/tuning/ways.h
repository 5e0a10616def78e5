// The ways an MPI_Alltoall may take, and which of them are worth a trial. Pure: equal on all ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "plan/message_order.h"
#include "plan/combining.h"
#include "tuning/trial.h"

namespace alm::tuning {

struct Way {
  enum class Kind : std::uint8_t {
    kRounds,    // in the rounds of the communicator's plan
    kPhased,    // over UDP in phases; `index` among the plans there are
    kNative,    // the MPI library's own
    kMessages,  // over MPI messages; `index` is a plan::MessageOrder
  };
  Kind kind = Kind::kRounds;
  std::uint32_t index = 0;

  bool operator==(const Way&) const = default;
};

constexpr Way kNativeWay{Way::Kind::kNative, 0};
constexpr Way phased_way(std::size_t index) {
  return {Way::Kind::kPhased, static_cast<std::uint32_t>(index)};
}
constexpr Way message_way(plan::MessageOrder order) {
  return {Way::Kind::kMessages, static_cast<std::uint32_t>(order)};
}

Kin kin_of(Way way);
// Blocks of several pairs may travel in one packet. Of the library's own nothing is known.
bool combines(Way way);

struct WaysWanted {
  std::uint32_t ranks = 0;
  std::uint64_t bytes = 0;  // per pair
  std::uint32_t packet_bytes = 0;
  std::span<const plan::Plan> phased;  // over UDP; empty without it
  std::optional<std::size_t> model;      // which of them the model takes; nothing: the rounds
  // Over UDP, where it is hosts that exchange; 0: as above.
  std::uint32_t members = 0;
  std::uint64_t member_bytes = 0;
};

// In order of preference: what the model takes, the library's own, what the model finds nearly as
// good, and messages in the orders that may suit the size.
std::vector<Way> ways_to_try(const WaysWanted& wanted);

}  // namespace alm::tuning

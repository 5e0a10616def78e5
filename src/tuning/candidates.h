// The ways an MPI_Alltoall may take, and which of them are candidates for a trial. Pure: equal on
// all ranks.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "plan/combining.h"
#include "plan/message_order.h"
#include "tuning/forecast.h"
#include "tuning/trial.h"

namespace alm::tuning {

struct Way {
  enum class Kind : std::uint8_t {
    kRounds,    // in the rounds of the communicator's plan, over UDP or MPI messages
    kPhased,    // over UDP in phases; `index` among the plans there are
    kNative,    // the MPI library's own
    kMessages,  // over MPI messages; `index` is a plan::MessageOrder
    kShared,    // as kRounds over UDP, shared by all leaders of each host
  };
  Kind kind = Kind::kRounds;
  std::uint32_t index = 0;

  bool operator==(const Way&) const = default;
};

constexpr Way kNativeWay{Way::Kind::kNative, 0};
constexpr Way kSharedWay{Way::Kind::kShared, 0};
constexpr Way phased_way(std::size_t index) {
  return {Way::Kind::kPhased, static_cast<std::uint32_t>(index)};
}
constexpr Way message_way(plan::MessageOrder order) {
  return {Way::Kind::kMessages, static_cast<std::uint32_t>(order)};
}

// What carries the rounds of a communicator.
enum class Carrier : std::uint8_t { kUdp, kMessages };

// Whether calls of this way go over UDP. What goes by MPI messages costs what the library's own way
// costs.
Kin kin_of(Way way, Carrier rounds);
// Blocks of several pairs may travel in one packet. Of the library's own nothing is known.
bool combines(Way way);

// What several leaders per host are to the calls of a communicator and size.
enum class Sharing : std::uint8_t {
  kNone,   // of no use, or there is one leader
  kTried,  // as another way
  kFixed,  // in place of one leader
};

struct CandidatesWanted {
  std::uint32_t ranks = 0;
  std::uint64_t bytes = 0;  // per pair
  std::uint32_t packet_bytes = 0;
  std::span<const plan::Plan> combining;  // over UDP; empty without it
  std::optional<std::size_t> model;       // which of them the model takes; nothing: the rounds
  // Over UDP, where it is hosts that exchange; 0: as above.
  std::uint32_t members = 0;
  std::uint64_t member_bytes = 0;
  Sharing sharing = Sharing::kNone;
  std::function<Foreseen(Way)> foreseen = {};  // by a profile; empty without one
};

// In order of preference: what the model takes, the library's own, the same as the first by several
// leaders, what the model finds nearly as good, and messages in the orders that may suit the size.
// With a profile, those it speaks of stand in the order of their times, in the places they have
// among all. One that opens connections then follows one that does not.
std::vector<Way> candidates(const CandidatesWanted& wanted);

// MPI libraries connect processes when they first send to each other. The library's own way does it
// for the blocks it does not combine; this one has to do it alone.
bool opens_connections(Way way, std::uint64_t bytes);

// Of a way over MPI messages, in decision files: it stays when texts change.
std::string_view key_of(plan::MessageOrder order);

}  // namespace alm::tuning

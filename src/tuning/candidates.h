// The ways an MPI_Alltoall may take, and the candidates for a trial among them. Pure: equal on all
// ranks.
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
#include "tuning/library_algorithms.h"
#include "tuning/trial.h"

namespace alm::tuning {

struct Way {
  enum class Kind : std::uint8_t {
    kRounds,    // in the rounds of the communicator's plan, over UDP or MPI messages
    kPhased,    // over UDP in phases; `index` among the combining plans
    kNative,    // by the MPI library; `index` is a LibraryAlgorithm
    kMessages,  // over MPI messages; `index` is a plan::MessageOrder
    kShared,    // as kRounds over UDP, shared by all leaders of each host
  };
  Kind kind = Kind::kRounds;
  std::uint32_t index = 0;

  bool operator==(const Way&) const = default;
};

constexpr Way library_way(LibraryAlgorithm algorithm) {
  return {Way::Kind::kNative, static_cast<std::uint32_t>(algorithm)};
}
constexpr Way kNativeWay = library_way(LibraryAlgorithm::kOwnChoice);
// Precondition: a way by the library.
constexpr LibraryAlgorithm algorithm_of(Way way) {
  return static_cast<LibraryAlgorithm>(way.index);
}
// Whether the library has to be told which algorithm it takes.
constexpr bool is_told(Way way) { return way.kind == Way::Kind::kNative && way != kNativeWay; }
constexpr Way kSharedWay{Way::Kind::kShared, 0};
constexpr Way phased_way(std::size_t index) {
  return {Way::Kind::kPhased, static_cast<std::uint32_t>(index)};
}
constexpr Way message_way(plan::MessageOrder order) {
  return {Way::Kind::kMessages, static_cast<std::uint32_t>(order)};
}

// `rounds`: the transport of the communicator's plan. Ways by the library count as kMpi, because
// its messages cost what ours cost.
Transport transport_of(Way way, Transport rounds);
// Whether blocks of several pairs may share a packet. True for the library's own way, which may do
// so.
bool combines(Way way);

// How several leaders per host are used for the calls of a communicator and size.
enum class Sharing : std::uint8_t {
  kNone,   // not at all, or there is one leader
  kTried,  // as one more way
  kFixed,  // always, in place of one leader
};

struct CandidatesWanted {
  std::uint32_t ranks = 0;
  std::uint64_t bytes = 0;  // per pair
  std::uint32_t packet_bytes = 0;
  std::span<const plan::Plan> combining;  // over UDP; empty without it
  std::optional<std::size_t> model;       // the model's choice among them; nothing: the rounds
  // For ways over UDP, where hosts exchange, not ranks; 0: `ranks` and `bytes`.
  std::uint32_t members = 0;
  std::uint64_t member_bytes = 0;
  Sharing sharing = Sharing::kNone;
  // Where UDP cannot go: all orders of MPI libraries are tried, and this is the first way.
  std::optional<Way> over_messages = {};
  // What the library may be told to take, in place of the same order over messages of ours.
  AlgorithmSet library = {};
  std::function<Foreseen(Way)> foreseen = {};  // by a profile; empty: there is none
};

// The first way where UDP cannot go: tiny blocks are combined, as by MPI libraries. Between few
// ranks combining saves too few messages.
Way first_over_messages(std::uint32_t ranks, std::uint64_t bytes);

// In order of preference: the model's choice, the library's own way, the model's choice with
// several leaders, ways that the model finds nearly as good, algorithms of the library and MPI
// messages in the orders that may suit the size. With a profile, the ways it predicts are sorted by
// time among the places that they have in this list. A way that opens connections then comes after
// one that does not.
std::vector<Way> candidates(const CandidatesWanted& wanted);

// Whether this way has to open connections: MPI libraries connect two processes when they first
// send to each other. The library's own way has done that for the blocks that it does not combine.
// `rounds`: their transport.
bool opens_connections(Way way, std::uint64_t bytes, Transport rounds);

// The key of a way over MPI messages in decision files. It never changes.
std::string_view key_of(plan::MessageOrder order);

}  // namespace alm::tuning

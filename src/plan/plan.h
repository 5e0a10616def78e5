// A plan says what one rank does in a complete exchange: a list of phases, in each of them rounds
// of partners, and which blocks travel in which message (docs/design.md section 2). Pure: the same
// request gives the same plan on every rank, without communication, in O(ranks) time and memory.
//
// A block is what one rank, its origin, has for another, its destination. Most algorithms have one
// phase, in which every block goes to its destination directly. Those that combine messages have
// several: a message then holds blocks of other ranks, too, which came in earlier phases.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/rounds.h"

namespace alm::plan {

enum class Algorithm : std::uint8_t {
#define ALM_ALGORITHM(enumerator, name, maker, shape, knows) enumerator,
#include "plan/algorithms.def"
#undef ALM_ALGORITHM
};

enum class Permutation : std::uint8_t { kShift, kXor, kEdgeColouring, kBalanced };

// Position of each rank's host in the network: leaf_of[l][rank], l = 0 the leaf switch, then the
// levels above it (topology::Hierarchy of the participants). Empty: one switch.
using LeafOf = std::vector<std::vector<std::uint32_t>>;

struct Request {
  std::uint32_t ranks = 0;
  base::Rank self = {};
  Algorithm algorithm = Algorithm::kSyncShuffle;
  // For the shuffles. Shift exchange always has kShift, direct has none. Pairwise needs pairs: it
  // takes kXor as it is, and kEdgeColouring for all others.
  Permutation permutation = Permutation::kBalanced;
  bool contention_aware = true;  // remap to the hierarchy (000 Eq 5); kBalanced always does
  std::uint32_t omega = 0;       // group shuffle: partners per round; 0: default_omega(ranks)
  // Grid: the lengths of its sides. Bruck: the radices of all digits but the last. Empty: those
  // with the fewest messages in two phases.
  std::vector<std::uint32_t> shape = {};
  LeafOf leaf_of = {};
  // [rank] the site of its host; required by algorithms that know sites.
  std::vector<std::uint32_t> site_of = {};
  bool combined = false;  // multi-site: small blocks together (multi_site.h says when)
};

// A block, or a part of one, in a message.
struct Move {
  static constexpr std::uint64_t kToTheEnd = std::numeric_limits<std::uint64_t>::max();

  base::Rank origin, destination;
  std::uint64_t offset = 0;  // in the block, in bytes
  std::uint64_t length = kToTheEnd;

  friend bool operator==(const Move&, const Move&) = default;
};

// What carries a phase's messages.
enum class Via : std::uint8_t {
  kNetwork,
  kMemory,  // of the host: the members share it
};

// Whether a phase stays within sites: near and far phases need different windows and timers
// (plan/far.h).
enum class Reach : std::uint8_t {
  kAny,
  kNear,  // within one site
  kFar,   // from site to site
};

// One rank's part in a phase. Members are numbered as peers, 0 .. members - 1; rounds name peers.
// Messages lie in the order of rounds.send and rounds.recv.
struct Phase {
  Via via = Via::kNetwork;
  Reach reach = Reach::kAny;
  std::vector<base::Rank> members;  // by peer; empty: all ranks, by number
  base::PeerId self = 0;
  base::Rounds rounds;
  // The message to rounds.send[i] holds out[out_begin[i] .. out_begin[i + 1]) in this order; the
  // message from rounds.recv[i] holds in[in_begin[i] .. in_begin[i + 1]). All four empty: every
  // message is the block that its sender has for its receiver.
  std::vector<Move> out, in;
  std::vector<std::uint32_t> out_begin, in_begin;

  bool direct() const { return out_begin.empty() && in_begin.empty(); }
  base::Rank rank_of(base::PeerId peer) const {
    return members.empty() ? base::Rank{peer} : members[peer];
  }
  // The moves in one message. `direct` is storage for the one move of a direct phase.
  std::span<const Move> sends(std::size_t message, Move& direct) const;
  std::span<const Move> receives(std::size_t message, Move& direct) const;
};

struct Plan {
  Algorithm algorithm = Algorithm::kSyncShuffle;
  Permutation permutation = Permutation::kBalanced;  // the one used, if any
  // The plan's name in decision files, logs and exports: the algorithm, its shape and its
  // permutation, "grid:8x4", "group-shuffle:5@balanced". The same on all ranks, and in all versions
  // for a plan that does the same.
  std::string identity;
  std::vector<std::uint32_t> shape;  // lengths of a grid, or partners + 1 by phase
  std::uint32_t ranks = 0;
  base::Rank self;
  // Every rank has as many phases. A rank that takes no part in a phase has no partners in it.
  std::vector<Phase> phases;

  // For a plan with one direct phase.
  const base::Rounds& rounds() const { return phases.front().rounds; }
  // Whether ranks forward blocks of others, and so have to know their sizes.
  bool forwards() const {
    return std::any_of(phases.begin(), phases.end(),
                       [](const Phase& phase) { return !phase.direct(); });
  }
};

// Errors (kBadInput): no ranks, a rank out of range, positions that do not nest, a shape that does
// not fit the ranks.
base::Result<Plan> make_plan(const Request& request);

// The permutation of the request or, if that lets ranks idle, shift. With it all ranks are in the
// same step, so that results for single steps hold, such as disjoint paths.
base::Result<Permutation> permutation_in_step(const Request& request);

// ceil(log2 p) + 1, at most p-1: gives the 5 and 4 that 002 found best for 16 and 8 hosts.
std::uint32_t default_omega(std::uint32_t ranks);

// An algorithm as users name it: "pairwise", "group-shuffle:5", "grid:8x4", "bruck:3x3".
struct Named {
  Algorithm algorithm{};
  std::vector<std::uint32_t> shape;
};

// Unknown names give an error that lists the valid ones.
base::Result<Named> parse_named(std::string_view text);
base::Result<Algorithm> parse_algorithm(std::string_view name);
base::Result<Permutation> parse_permutation(std::string_view name);
std::string_view name_of(Algorithm algorithm);      // "sync-shuffle", ...
std::string_view name_of(Permutation permutation);  // "balanced", ...
// Whether a request for this algorithm has to give the site of each rank.
bool knows_sites(Algorithm algorithm);
// "8x4"
std::string text_of_shape(std::span<const std::uint32_t> shape);
// "grid 8 x 4", "sync-shuffle (balanced)": for people.
std::string text_of(const Plan& plan);

}  // namespace alm::plan

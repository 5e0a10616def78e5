// Spreads the blocks of pairs of members over the equal routes between leaves, so that no route
// carries more than it must. Pure: routes are numbers that mean the same to all leaves, such as
// spines; plan/assigned_paths.h and meeting/found_routes.h know which path number or five-tuple
// takes a route.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/rounds.h"

namespace alm::schedule {

// For a member whose leaf is not known; its blocks get kNoRoute.
constexpr std::uint32_t kNoLeaf = UINT32_MAX;
constexpr std::uint8_t kNoRoute = UINT8_MAX;
// With more members every rank would take too long to compute this.
constexpr std::uint32_t kAssignedMembersMax = 256;

// The equal routes between leaves. In three levels leaves lie in pods; a route between pods is one
// of the routers that a leaf chooses from, and one of those that this chooses from: route number
// middle * tops + top. Within a pod `top` is 0.
struct EqualRoutes {
  std::span<const std::uint32_t> leaf_of;  // by member
  std::uint32_t middles = 1;               // what a leaf chooses from
  std::uint32_t tops = 1;                  // what each of these chooses from, towards other pods
  std::span<const std::uint32_t> pod_of = {};  // by leaf; empty: one pod

  std::uint32_t count() const { return middles * tops; }
};

// `sends`: [member] the peers it sends to, in the order of steps; the packets of one step load no
// link more than they must (schedule/spread_over_routes.h), neither below the middle routers nor
// above them. Returns [from * members + to] the route; kNoRoute within a leaf.
std::vector<std::uint8_t> assign_routes(const EqualRoutes& routes,
                                        std::span<const std::vector<base::PeerId>> sends);

// The same for blocks of different sizes, [from * members + to] bytes, that all go at once. Takes
// the better of two: pairs spread evenly whatever they send, which is best for equal blocks; and
// the largest block first, each by the route with the least load.
std::vector<std::uint8_t> assign_routes_to_blocks(const EqualRoutes& routes,
                                                  std::span<const std::uint64_t> bytes);

}  // namespace alm::schedule

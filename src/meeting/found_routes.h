// Which route each five-tuple takes, by the answers of routers (transport/io/hops.h). From that,
// path numbers are given to five-tuples so that each of the equal routes to a peer has one.
//
// The first router that answers a host is its leaf. Packets from one leaf to another pass one of
// several routers next: a route is known by that router. All ranks gather the addresses of these
// routers and number them alike. Choices further up are left to the routers' hash. Without routers
// that answer no routes are known; path numbers then stand for five-tuples as they come, and path
// policies find out what each path carries.
// Pure: communicator/bring_up.cc asks the questions.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/options.h"
#include "plan/plan.h"
#include "transport/io/endpoint.h"
#include "transport/io/hops.h"

namespace alm::meeting {

using RouterAddress = std::array<std::uint8_t, 16>;  // all 0: none
constexpr std::size_t kRoutesMax = 32;

// Trivially copyable: gathered from all ranks, first with the leaf, then with the routers behind
// it.
struct RouterRecord {
  RouterAddress leaf{};
  std::uint8_t count = 0;
  std::array<RouterAddress, kRoutesMax> next{};
};

// What one leader knows. `count` and `leaf_of` are equal on all leaders of its number.
struct FoundRoutes {
  std::uint32_t count = 0;             // below 2: nothing is known
  std::vector<std::uint32_t> leaf_of;  // [host], schedule::kNoLeaf where no router has answered
  std::vector<io::Tuples> tuples;      // [host][path]; empty: not known
  std::vector<std::vector<std::uint8_t>> route_of;  // [host][path]

  std::vector<std::string> routers;  // [route]: its address, numeric

  bool known() const { return count >= 2; }
  // "h4 198.18.64.1 198.18.64.3": for each host the routers by path number. Hosts below the same
  // leaf are left out.
  std::string text(std::span<const std::string> hosts) const;
  // A path number to that host that takes this route; any number if none does.
  std::uint8_t path_by(std::uint32_t host, std::uint8_t route) const;
};

// Whether the plan assigns paths: routes must be known, and hosts must not be too many.
bool assigns_paths(const base::Options& options, const FoundRoutes& routes);

using HostAddresses = std::span<const std::vector<io::Address>>;  // [host][port]

// Questions that find the leaf: to a few hosts, at ports where nobody listens.
std::vector<io::HopQuestion> leaf_questions(HostAddresses addresses, std::uint32_t self);
// Questions that find the routers behind it: each five-tuple to each host below another leaf.
// `records` lie by host.
std::vector<io::HopQuestion> route_questions(HostAddresses addresses, std::uint32_t self,
                                             std::span<const RouterRecord> records);
RouterRecord leaf_record(std::span<const io::Address> routers);
// Adds the routers to the record, as many as fit.
void add_routers(RouterRecord& record, std::span<const io::Address> routers);

// `questions` are those of route_questions(), `routers` the answers.
FoundRoutes find_routes(std::span<const RouterRecord> records, std::uint32_t self,
                        std::uint32_t paths, std::span<const io::HopQuestion> questions,
                        std::span<const io::Address> routers, HostAddresses addresses);

// [i] the path to sends[self][i]. `sends`: [host] its receivers, in the order of steps.
std::vector<std::uint8_t> assigned_paths(const FoundRoutes& routes, std::uint32_t self,
                                         std::span<const std::vector<base::PeerId>> sends);
// The same for blocks that differ, [from * hosts + to] bytes, and the peers of `send`.
std::vector<std::uint8_t> assigned_paths(const FoundRoutes& routes, std::uint32_t self,
                                         std::span<const std::uint64_t> bytes,
                                         std::span<const base::PeerId> send);

}  // namespace alm::meeting

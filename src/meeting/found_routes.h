// Which route each five-tuple takes, by the answers of routers (transport/io/hops.h). From that,
// path numbers are given to five-tuples so that each of the equal routes to a peer has one.
//
// The first router that answers a host is its leaf. Packets from one leaf to another pass one of
// several routers next: a route is known by that router. All ranks gather the addresses of these
// routers and number them alike. Many routers answer by the address of the link that the question
// came by, so that each leaf sees others: then they are numbered leaf by leaf, in the order of
// their addresses, which is that of the routers in most plans of addresses.
//
// In three levels leaves that share routers are a pod, and the routers of a pod choose among others
// (tops) on the way to other pods: a route is then known by both. Whether there is such a choice is
// asked about a few five-tuples, and tops are asked about where it is. Choices further up, and all
// of them where leaves share no router, are left to the routers' hash. Without routers that answer
// no routes are known; path numbers then stand for five-tuples as they come, and path policies find
// out what each path carries. Pure: communicator/bring_up_routes.cc asks the questions.
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

// Trivially copyable: gathered from all ranks. Where all have the same leaf, or none, that is all.
struct LeafRecord {
  RouterAddress leaf{};
};
// With the routers behind the leaf.
struct RouterRecord : LeafRecord {
  std::uint8_t count = 0;
  std::uint8_t deeper = 0;  // 1: packets by one of these routers may pass several others next
  std::array<RouterAddress, kRoutesMax> next{};
};

// Routes of three levels, gathered where some rank has found that they part behind the next router:
// the middle router of each and the top behind it.
struct TopRecord {
  std::uint8_t count = 0;
  std::uint8_t deeper = 0;  // 1: what they are is not known to the end
  std::array<RouterAddress, kRoutesMax> middle{}, top{};
};

// What one leader knows. `count` and `leaf_of` are equal on all leaders of its number.
struct FoundRoutes {
  std::uint32_t count = 0;             // below 2: nothing is known
  std::uint32_t tops = 1;              // of each middle router: route = middle * tops + top
  bool deeper = false;                 // five-tuples of one route part further up
  std::vector<std::uint32_t> leaf_of;  // [host], schedule::kNoLeaf where no router has answered
  std::vector<std::uint32_t> pod_of;   // [leaf]; empty where routes have two levels
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

// Whether the plan assigns paths: routes must be known, to their end unless the options ask for it,
// and hosts must not be too many.
bool assigns_paths(const base::Options& options, const FoundRoutes& routes);

using HostAddresses = std::span<const std::vector<io::Address>>;  // [host][port]

// Whether hosts are known to hang on different leaves. Only then are there routes to ask for.
bool has_several_leaves(std::span<const RouterRecord> records);
// Whether all who got an answer from behind the leaves got it from one router, and ways do not part
// behind that either.
bool has_one_way(std::span<const RouterRecord> records);
// How many routes all hosts together have seen; below 2: none are known.
std::uint32_t routes_in(std::span<const RouterRecord> records);

// Questions that find the leaf: to a few hosts, at ports where nobody listens.
std::vector<io::HopQuestion> leaf_questions(HostAddresses addresses, std::uint32_t self);
// Questions that find the routers behind it: each five-tuple to each host below another leaf.
// `records` lie by host.
std::vector<io::HopQuestion> route_questions(HostAddresses addresses, std::uint32_t self,
                                             std::span<const RouterRecord> records);
RouterRecord leaf_record(std::span<const io::Address> routers);
// Adds the routers to the record, as many as fit.
void add_routers(RouterRecord& record, std::span<const io::Address> routers);

// Questions about five-tuples to one host that pass the same router: which one is next?
std::vector<io::HopQuestion> deeper_questions(std::span<const io::HopQuestion> questions,
                                              std::span<const io::Address> routers);
// Notes in the record whether they part. `routers`: the answers to them. `before`: the answers to
// the questions from which these were made, of which late copies may come.
void note_deeper(RouterRecord& record, std::span<const io::Address> routers,
                 std::span<const io::Address> before);
bool any_deeper(std::span<const RouterRecord> records);

// Of route_questions(): which of them lead to other pods. Those are asked again, a hop further on.
std::vector<std::size_t> questions_to_pods(std::span<const RouterRecord> records,
                                           std::uint32_t self,
                                           std::span<const io::HopQuestion> questions);
// The questions of these numbers, `further` hops further on.
std::vector<io::HopQuestion> further_questions(std::span<const io::HopQuestion> questions,
                                               std::span<const std::size_t> which,
                                               std::uint8_t further);
// `questions`: all; `routers`: who answers first behind the leaf; `tops`: who answers next, length
// 0 where it has not been asked.
TopRecord top_record(std::span<const io::HopQuestion> questions,
                     std::span<const io::Address> routers, std::span<const io::Address> tops);
// How many tops each middle router chooses from; 0: not known to the end, or too many in all.
std::uint32_t tops_in(std::span<const RouterRecord> records, std::span<const TopRecord> tops);

// What one rank has asked about each five-tuple, and the answers.
struct RouteAnswers {
  std::span<const io::HopQuestion> questions;  // those of route_questions()
  std::span<const io::Address> routers;
  std::span<const io::Address> tops = {};  // empty: two levels
};
// `top_records`: empty where routes have two levels.
FoundRoutes find_routes(std::span<const RouterRecord> records,
                        std::span<const TopRecord> top_records, std::uint32_t self,
                        std::uint32_t paths, const RouteAnswers& answers, HostAddresses addresses);

// [i] the path to sends[self][i]. `sends`: [host] its receivers, in the order of steps.
std::vector<std::uint8_t> assigned_paths(const FoundRoutes& routes, std::uint32_t self,
                                         std::span<const std::vector<base::PeerId>> sends);
// The same for blocks that differ, [from * hosts + to] bytes, and the peers of `send`.
std::vector<std::uint8_t> assigned_paths(const FoundRoutes& routes, std::uint32_t self,
                                         std::span<const std::uint64_t> bytes,
                                         std::span<const base::PeerId> send);

}  // namespace alm::meeting

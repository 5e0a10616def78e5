// Which way each five-tuple takes, as the routers say (transport/io/hops.h), and what follows from
// it: of the path numbers to a peer, one leads by each of the equal ways.
//
// The first router that answers a host is its leaf. What a leaf sends to another one passes one of
// several routers next: those are the ways, numbered alike by all ranks, which gather the addresses
// all of them have seen. Choices further up are left to the routers' hash. A network without
// routers, or with routers that do not answer, has no ways that are known; path numbers then stand
// for five-tuples as they come, and policies find out by what they carry.
//
// Pure, but for the questions, which bring_up.cc puts.
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

namespace alm::mpi {

using RouterAddress = std::array<std::uint8_t, 16>;  // all 0: none
constexpr std::size_t kWaysMax = 32;

// Trivially copyable: gathered from all ranks, first with the leaf, then with what is behind it.
struct RouterRecord {
  RouterAddress leaf{};
  std::uint8_t count = 0;
  std::array<RouterAddress, kWaysMax> next{};
};

// Of a rank; equal on all ranks are `count` and `leaf_of`.
struct FoundWays {
  std::uint32_t count = 0;             // below 2: nothing is known
  std::vector<std::uint32_t> leaf_of;  // [host], plan::kNoLeaf where no router has answered
  std::vector<io::Tuples> tuples;      // [host][path]; empty: not known
  std::vector<std::vector<std::uint8_t>> way_of;  // [host][path]

  std::vector<std::string> routers;  // [way]: its address, numeric

  bool known() const { return count >= 2; }
  // "h4 198.18.64.1 198.18.64.3": of each host the routers by path number. Hosts below the same
  // leaf are left out.
  std::string text(std::span<const std::string> hosts) const;
  // The path number to that host that goes this way; where none does, any.
  std::uint8_t path_by(std::uint32_t host, std::uint8_t way) const;
};

// Whether ways are looked for at all. Where hosts have several links paths go round those.
bool finds_ways(const base::Options& options, std::uint32_t links = 1);
// Whether paths are assigned by the plan: it must know the ways, and hosts must not be too many.
bool assigns_paths(const base::Options& options, const FoundWays& ways);

using HostAddresses = std::span<const std::vector<io::Address>>;  // [host][port]

// For the leaf: of a few hosts, to ports that nobody listens at.
std::vector<io::HopQuestion> leaf_questions(HostAddresses addresses, std::uint32_t self);
// For what is behind it: each five-tuple to each host below another leaf. `records`: by host.
std::vector<io::HopQuestion> way_questions(HostAddresses addresses, std::uint32_t self,
                                           std::span<const RouterRecord> records);
RouterRecord leaf_record(std::span<const io::Address> routers);
// Adds the routers to the record, as many as fit.
void add_routers(RouterRecord& record, std::span<const io::Address> routers);

// `questions` are those of way_questions(), `routers` the answers.
FoundWays find_ways(std::span<const RouterRecord> records, std::uint32_t self, std::uint32_t paths,
                    std::span<const io::HopQuestion> questions,
                    std::span<const io::Address> routers, HostAddresses addresses);

// The paths of the plan's rounds, for this rank. `sends`: of each host, in the order of steps.
std::vector<std::uint8_t> assigned_paths(const FoundWays& ways, std::uint32_t self,
                                         std::span<const std::vector<base::PeerId>> sends);
// The same where blocks differ, [from * hosts + to] bytes, for the peers of `send`.
std::vector<std::uint8_t> assigned_paths(const FoundWays& ways, std::uint32_t self,
                                         std::span<const std::uint64_t> bytes,
                                         std::span<const base::PeerId> send);

}  // namespace alm::mpi

// Shortest paths from every switch to every host, with a rule that picks among equals.
//
// A directed link is a port: port 2l sends link l up (from -> to), port 2l + 1 down (to -> from).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "topology/cluster.h"

namespace alm::routing {

enum class Rule {
  kEcmp,   // by a hash of the flow, mixed anew at every switch
  kDModK,  // destination tables: (destination / what lower levels divide by) mod the choices
  kSource  // the sender's path number, one digit per switch with a choice
};
base::Result<Rule> parse_rule(std::string_view name);
std::string_view name_of(Rule rule);

constexpr std::uint32_t up_port(std::uint32_t link) { return 2 * link; }
constexpr std::uint32_t down_port(std::uint32_t link) { return 2 * link + 1; }
constexpr std::uint32_t reverse(std::uint32_t port) { return port ^ 1; }

// A well-mixed number for packets of (source, destination, entropy): what ECMP hashes.
constexpr std::uint32_t flow_hash(std::uint32_t source, std::uint32_t destination,
                                  std::uint32_t entropy) {
  std::uint64_t x = (std::uint64_t{source} << 32 | destination) * 0x9e3779b97f4a7c15u + entropy;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return static_cast<std::uint32_t>(x ^ (x >> 31));
}

class Routes {
 public:
  // Errors are kBadInput: a host without a path to another.
  static base::Result<Routes> make(const topology::Cluster& cluster, Rule rule);

  // The port a switch sends a packet for this host through. `flow` is the packet's: its hash for
  // kEcmp, its path number for kSource, of which the digit used is taken off.
  std::uint32_t next(std::uint32_t switch_index, std::uint32_t host, std::uint32_t& flow) const {
    const std::uint32_t entry = table_[std::size_t{switch_index} * hosts_ + host];
    if ((entry & kChoice) == 0) return entry;
    return choose(switch_index, entry & ~kChoice, flow);
  }
  // next() will be asked for.
  void prefetch(std::uint32_t switch_index, std::uint32_t host) const {
    __builtin_prefetch(&table_[std::size_t{switch_index} * hosts_ + host]);
  }
  // All ports on shortest paths, whatever the rule picks.
  std::span<const std::uint32_t> choices(std::uint32_t switch_index, std::uint32_t host) const;
  // Ports of the path from one host to another.
  std::vector<std::uint32_t> path(std::uint32_t from, std::uint32_t to, std::uint32_t flow) const;
  std::uint32_t host_port(std::uint32_t host) const { return host_port_[host]; }
  // Path numbers that differ, from this host to that (kSource); 1 where there is one path.
  std::uint32_t path_count(std::uint32_t from, std::uint32_t to) const;
  std::size_t bytes() const;

 private:
  static constexpr std::uint32_t kChoice = 1u << 31;
  struct Group {
    std::uint32_t begin = 0, count = 0;
  };

  std::uint32_t choose(std::uint32_t switch_index, std::uint32_t group, std::uint32_t& flow) const;

  Rule rule_ = Rule::kEcmp;
  std::uint32_t hosts_ = 0, switches_ = 0;
  std::vector<std::uint32_t> table_;   // [switch][host]: a port, or kChoice | group
  std::vector<std::uint32_t> choice_;  // the same before the rule picked; empty where equal
  std::vector<Group> groups_;
  std::vector<std::uint32_t> members_;
  std::vector<std::uint32_t> host_port_;    // by host: its egress
  std::vector<std::uint32_t> end_of_port_;  // by port: node it leads to
};

}  // namespace alm::routing

// Where packets go: tables, tables with several numbers per host, and routes port by port.
//
// A directed link is a port: port 2l sends link l up (from -> to), port 2l + 1 down (to -> from).
//
// What a packet carries is its `flow`. Whoever sends it sets a label, label(): its path number, or
// what the rule makes of that. enter() turns the label into what next() reads and edits at each
// switch.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "routing/candidates.h"
#include "topology/cluster.h"

namespace alm::routing {

// In tables: no packet for that host comes to this switch.
inline constexpr std::uint32_t kNoPort = UINT32_MAX;

enum class Rule {
  // Shortest paths; among equal ones:
  kEcmp,    // by a hash of the flow, mixed anew at every switch
  kDModK,   // destination tables: (destination / what lower levels divide by) mod the choices
  kSource,  // the sender's path number, one digit per switch with a choice
  kLid,     // destination tables with 2^lmc numbers per host; the path number is the offset
  // Other destination tables:
  kUpDown,   // up*/down*: no circle of ports can wait for itself
  kValiant,  // to a random host's switch first, a new one for each path number
  // The two routes of Fast Messages (001 section 4), port by port:
  kFm1,          // the first: shortest, over the links least used by earlier routes
  kFm2,          // the second: without the links of the first
  kAlternate,    // by the parity of the path number
  kRandom,       // by a hash of it
  kLeastLoaded,  // the one with fewer packets on its way when a new path number is first used
  kGiven         // from outside, port by port, by path number
};
base::Result<Rule> parse_rule(std::string_view name);
std::string_view name_of(Rule rule);
// The names of all, for messages.
std::string rule_names();

// A well-mixed number for packets of (source, destination, entropy): what ECMP hashes.
constexpr std::uint32_t flow_hash(std::uint32_t source, std::uint32_t destination,
                                  std::uint32_t entropy) {
  std::uint64_t x = (std::uint64_t{source} << 32 | destination) * 0x9e3779b97f4a7c15u + entropy;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return static_cast<std::uint32_t>(x ^ (x >> 31));
}

// What a sender puts into a packet's flow. `path`: the number of a path, or of a message where a
// path is chosen per message. Path 0 of a sender that chooses is that of destination tables.
constexpr std::uint32_t label(Rule rule, std::uint32_t source, std::uint32_t destination,
                              std::uint32_t path) {
  if (rule == Rule::kEcmp) return flow_hash(source, destination, path);
  if (rule == Rule::kSource) return destination + path;
  return path;
}

// Path numbers are then those of messages.
constexpr bool chooses_per_message(Rule rule) {
  return rule == Rule::kValiant || rule == Rule::kAlternate || rule == Rule::kRandom ||
         rule == Rule::kLeastLoaded;
}

constexpr bool tells_paths_apart(Rule rule) {
  return rule == Rule::kEcmp || rule == Rule::kSource || rule == Rule::kLid ||
         rule == Rule::kGiven || chooses_per_message(rule);
}

// How subnet managers fill tables.
enum class LidEngine {
  kMinHop,  // shortest paths, the port that fewest numbers use
  kUpDown   // the same over up*/down* paths
};
inline constexpr std::uint32_t kLmcMax = 7;

// The ways from one host to another, each the switches on it.
struct GivenWays {
  std::uint32_t from = 0, to = 0;
  std::vector<std::vector<std::uint32_t>> ways;  // by path number
};

struct Settings {
  std::uint32_t lmc = 0;  // kLid: 2^lmc numbers per host
  LidEngine lid_engine = LidEngine::kMinHop;
  // kLid, tables from outside: [switch][host << lmc | offset] -> port, or kNoPort; empty: made by
  // lid_engine.
  std::vector<std::uint32_t> lid_ports;
  std::vector<GivenWays> given = {};  // kGiven; all other pairs take the way of destination tables
  std::vector<bool> dead;             // links that carry nothing; empty: none
  bool partial = false;  // hosts may be out of each other's reach; packets end at a switch then
};

class Routes {
 public:
  // Errors are kBadInput: a host without a path to another, an LMC above 7, tables that do not fit.
  static base::Result<Routes> make(const topology::Cluster& cluster, Rule rule,
                                   const Settings& settings = {});

  // What a packet's flow is when it enters the network with this label. Not kLeastLoaded, where
  // whoever sees the load takes route().
  std::uint32_t enter(std::uint32_t from, std::uint32_t to, std::uint32_t label) const;
  // The port a switch sends a packet for this host through; kNoPort where routes that were made
  // anew do not lead a packet by this switch.
  std::uint32_t next(std::uint32_t switch_index, std::uint32_t host, std::uint32_t& flow) const {
    if (kind_ != Kind::kTable) return next_special(switch_index, host, flow);
    const std::uint32_t entry = table_[std::size_t{switch_index} * hosts_ + host];
    if ((entry & kChoice) == 0 || entry == kNoPort) return entry;
    return choose(switch_index, entry & ~kChoice, flow);
  }
  // next() will be asked for.
  void prefetch(std::uint32_t switch_index, std::uint32_t host) const {
    __builtin_prefetch(&table_[std::size_t{switch_index} * hosts_ + host]);
  }
  // All ports on the paths that the rule picks from, whatever it picks. Of routes port by port:
  // those on shortest paths.
  std::span<const std::uint32_t> choices(std::uint32_t switch_index, std::uint32_t host) const;
  // Ports of the path from one host to another; none where no path leads there.
  std::vector<std::uint32_t> path(std::uint32_t from, std::uint32_t to, std::uint32_t label) const;
  std::uint32_t host_port(std::uint32_t host) const { return host_port_[host]; }
  // Path numbers that differ, from this host to that (kSource, kLid, kGiven); 1 where there is one
  // path.
  std::uint32_t path_count(std::uint32_t from, std::uint32_t to) const;
  std::size_t bytes() const;

  Rule rule() const { return rule_; }
  // The port of each number of each host at each switch, as Settings::lid_ports (kLid).
  std::span<const std::uint32_t> lid_ports() const { return lid_ports_; }
  // Routes port by port: what enter() would return for the first (0) and second (1), and the ports
  // of it at switches, the last of which leads to the host.
  bool walks() const { return kind_ == Kind::kWalk; }
  std::uint32_t route(std::uint32_t from, std::uint32_t to, std::uint32_t which) const {
    return (which == 0 ? first_ : second_)[std::size_t{from} * hosts_ + to];
  }
  std::uint32_t port_at(std::uint32_t flow) const { return pool_[flow]; }
  bool ends(std::uint32_t port) const { return end_of_port_[port] < hosts_; }

  // Packets on the way by earlier routes go on by them.
  void keep_routes_of(const Routes& earlier);

  // Ports that can wait for each other in a circle when switches hold packets back instead of
  // dropping them: a circle of the graph in which a port depends on those its packets may want
  // next (Dally and Seitz 1987). Empty where there is none, or where some switch on it drops.
  std::vector<std::uint32_t> circle(const topology::Cluster& cluster) const;

 private:
  enum class Kind : std::uint8_t { kTable, kLid, kValiant, kWalk };
  static constexpr std::uint32_t kChoice = 1u << 31;
  struct Group {
    std::uint32_t begin = 0, count = 0;
  };
  friend class Dependencies;

  std::uint32_t choose(std::uint32_t switch_index, std::uint32_t group, std::uint32_t& flow) const;
  std::uint32_t next_special(std::uint32_t switch_index, std::uint32_t host,
                             std::uint32_t& flow) const;
  void number_ports(const topology::Cluster& cluster);
  base::Status fill_tables(const topology::Cluster& cluster, Candidates& candidates,
                           const Settings& settings);
  void pick_by_destination(const std::vector<std::uint32_t>& height);
  base::Status fill_lids(const topology::Cluster& cluster, const Settings& settings);
  base::Status check_lids(const topology::Cluster& cluster) const;
  base::Status lay_routes(const topology::Cluster& cluster, const Candidates& candidates);
  base::Status lay_given(const topology::Cluster& cluster, const Candidates& candidates,
                         const std::vector<GivenWays>& given);

  Rule rule_ = Rule::kEcmp;
  Kind kind_ = Kind::kTable;
  std::uint32_t hosts_ = 0, switches_ = 0, lmc_ = 0;
  std::vector<std::uint32_t> table_;   // [switch][host]: a port, or kChoice | group
  std::vector<std::uint32_t> choice_;  // the same before the rule picked; empty where equal
  std::vector<std::uint32_t> radix_;   // by height: the most choices a switch there has
  std::vector<Group> groups_;
  std::vector<std::uint32_t> members_;
  std::vector<std::uint32_t> host_port_;       // by host: its egress
  std::vector<std::uint32_t> end_of_port_;     // by port: node it leads to
  std::vector<std::uint32_t> lid_ports_;       // kLid
  std::vector<std::uint32_t> pool_;            // kWalk: ports of all routes
  std::vector<std::uint32_t> first_, second_;  // [from][to]: where in the pool a route begins
  std::vector<Group> ways_;                    // kGiven, [from][to]: of begins_
  std::vector<std::uint32_t> begins_;          // where in the pool
};

}  // namespace alm::routing

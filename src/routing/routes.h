// Where packets go: by destination tables, by tables with several numbers per host (LIDs), or by
// routes that list every port.
//
// A directed link is a port: port 2l sends link l up (from -> to), port 2l + 1 down (to -> from).
//
// Every packet carries a `flow`. Its sender makes a label with label(): its path number, or what
// the rule makes of that. enter() turns the label into the flow, which next() reads and edits at
// each switch.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mix.h"
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
  kUpDown,   // up*/down*: ports cannot wait for each other in a circle
  kValiant,  // by the switch of a random host, another for each path number
  // The two routes of Fast Messages (001 section 4), port by port:
  kFm1,          // the first: shortest, over the links least used by earlier routes
  kFm2,          // the second: without the links of the first
  kAlternate,    // by the parity of the path number
  kRandom,       // by a hash of it
  kLeastLoaded,  // the one with fewer packets on its way when a new path number is first used
  kGiven         // handed in from outside, port by port, by path number
};
base::Result<Rule> parse_rule(std::string_view name);
std::string_view name_of(Rule rule);
// The names of all, for messages.
std::string rule_names();

// A well-mixed number for packets of (source, destination, entropy): what ECMP hashes.
constexpr std::uint32_t flow_hash(std::uint32_t source, std::uint32_t destination,
                                  std::uint32_t entropy) {
  const std::uint64_t flow = std::uint64_t{source} << 32 | destination;
  return static_cast<std::uint32_t>(base::mix(flow * base::kGolden + entropy));
}

// What a sender puts into a packet's flow. `path`: the number of a path, or of a message where a
// path is chosen per message. Path 0 of a sender that chooses is that of destination tables.
constexpr std::uint32_t label(Rule rule, std::uint32_t source, std::uint32_t destination,
                              std::uint32_t path) {
  if (rule == Rule::kEcmp) return flow_hash(source, destination, path);
  if (rule == Rule::kSource) return destination + path;
  return path;
}

// Whether the path number counts messages: each message may take another path.
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

// The routes from one host to another, each as the list of its switches.
struct GivenRoutes {
  std::uint32_t from = 0, to = 0;
  std::vector<std::vector<std::uint32_t>> routes;  // by path number
};

struct Settings {
  std::uint32_t lmc = 0;  // kLid: 2^lmc numbers per host
  LidEngine lid_engine = LidEngine::kMinHop;
  // kLid, tables from outside: [switch][host << lmc | offset] -> port, or kNoPort; empty: made by
  // lid_engine.
  std::vector<std::uint32_t> lid_ports;
  // kGiven; all other pairs take the route of destination tables.
  std::vector<GivenRoutes> given = {};
  std::vector<bool> dead;  // links that carry nothing; empty: none
  bool partial = false;    // hosts may be out of each other's reach; packets end at a switch then
};

class Routes {
 public:
  // Errors are kBadInput: a host without a path to another, an LMC above 7, tables that do not fit.
  static base::Result<Routes> make(const topology::Cluster& cluster, Rule rule,
                                   const Settings& settings = {});

  // The flow of a packet that enters the network with this label. Not for kLeastLoaded: there the
  // caller, who sees the load, takes route().
  std::uint32_t enter(std::uint32_t from, std::uint32_t to, std::uint32_t label) const;
  // The port through which a switch sends a packet for this host; kNoPort where routes were made
  // anew and no longer pass this switch.
  std::uint32_t next(std::uint32_t switch_index, std::uint32_t host, std::uint32_t& flow) const {
    if (kind_ != Kind::kTable) return next_special(switch_index, host, flow);
    const std::uint32_t entry = table_[std::size_t{switch_index} * hosts_ + host];
    if ((entry & kChoice) == 0 || entry == kNoPort) return entry;
    return choose(switch_index, entry & ~kChoice, flow);
  }
  // A hint: next() will be called with these arguments.
  void prefetch(std::uint32_t switch_index, std::uint32_t host) const {
    __builtin_prefetch(&table_[std::size_t{switch_index} * hosts_ + host]);
  }
  // All ports that the rule may pick from. For routes that list every port: those on shortest
  // paths.
  std::span<const std::uint32_t> choices(std::uint32_t switch_index, std::uint32_t host) const;
  // The ports of the path from one host to another; empty where no path leads there.
  std::vector<std::uint32_t> path(std::uint32_t from, std::uint32_t to, std::uint32_t label) const;
  std::uint32_t host_port(std::uint32_t host) const { return host_port_[host]; }
  // How many path numbers from this host to that give different paths (kSource, kLid, kGiven).
  std::uint32_t path_count(std::uint32_t from, std::uint32_t to) const;
  std::size_t bytes() const;

  Rule rule() const { return rule_; }
  // The tables in use, laid out as Settings::lid_ports (kLid).
  std::span<const std::uint32_t> lid_ports() const { return lid_ports_; }
  // For rules whose routes list every port (Kind::kWalk): route() is the flow of the first (0) or
  // second (1) route. port_at() gives its port at a switch; the last port leads to the host
  // (ends()).
  std::uint32_t route(std::uint32_t from, std::uint32_t to, std::uint32_t which) const {
    return (which == 0 ? first_ : second_)[std::size_t{from} * hosts_ + to];
  }
  std::uint32_t port_at(std::uint32_t flow) const { return pool_[flow]; }
  bool ends(std::uint32_t port) const { return end_of_port_[port] < hosts_; }

  // Keeps the earlier routes for packets that are already on their way.
  void keep_routes_of(const Routes& earlier);

  // Ports that can wait for each other in a circle when switches hold packets back instead of
  // dropping them: a circle in the graph in which a port depends on the ports that its packets may
  // take next (Dally and Seitz 1987). Empty where there is none, or where some switch on it drops
  // packets.
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
                         const std::vector<GivenRoutes>& given);

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
  std::vector<Group> given_routes_;            // kGiven, [from][to]: their part of begins_
  std::vector<std::uint32_t> begins_;          // where in the pool a route begins
};

}  // namespace alm::routing

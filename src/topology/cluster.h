// A cluster: hosts, switches and links as a graph, read from a TOML cluster file.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"

namespace alm::topology {

enum class Architecture { kOutput, kInput, kShared };
enum class Switching { kStoreAndForward, kCutThrough };
enum class FlowControl { kDrop, kBackPressure };

struct Host {
  std::string name;
  std::string address;    // empty: resolved or assigned by whoever uses the cluster
  std::string interface;  // empty: the route to the peers decides
  std::uint32_t links = 1;
  struct Nic {
    std::string address, interface;
  };
  std::vector<Nic> further = {};  // [i] of link i + 1, in the order of links
};
inline constexpr std::uint32_t kHostLinksMax = 8;
inline constexpr double kRateMax = 1e9;  // Mbit/s

struct Switch {
  std::string name;
  std::string site = {};  // of the hosts on it; empty: the cluster has no sites
  Architecture architecture = Architecture::kOutput;
  Switching switching = Switching::kStoreAndForward;
  FlowControl flow_control = FlowControl::kDrop;
  std::uint32_t buffer_packets = 0;  // shared pool; 0: the port queues alone count
  double buffer_alpha = 0;           // queue limit / free pool (dynamic thresholds); 0: no limit
  double backplane_mbit_s = 0;       // 0: carries everything
  bool operator==(const Switch&) const = default;
};

// Nodes are hosts first, in file order, then switches.
struct NodeId {
  std::uint32_t value = 0;
  friend constexpr auto operator<=>(NodeId, NodeId) = default;
};

constexpr std::uint32_t kQueueDefaultPackets = 1000;  // where a file says nothing else

struct LinkLines {  // for messages: where the keys stand
  std::uint32_t ends = 0, rate = 0, latency = 0, queue_up = 0, queue_down = 0;
  bool operator==(const LinkLines&) const = default;
};
// "up" is from -> to, "down" is to -> from. A queue is the egress queue at the sending end.
struct Link {
  NodeId from;
  NodeId to;
  double rate_up_mbit_s = 0;
  double rate_down_mbit_s = 0;
  double latency_us = 0;
  std::uint32_t queue_up_packets = 0;
  std::uint32_t queue_down_packets = 0;
  double bidirectional_cap_mbit_s = 0;  // 0: none
  bool one_way = false;                 // nothing travels down; between switches only
  // The switch marks a packet that finds so many in the queue of this link, where senders know ECN
  // (RFC 3168, DCTCP); 0: it marks none.
  std::uint32_t ecn_packets = 0;
  LinkLines lines{};  // of the cluster file; 0: of no file
  bool operator==(const Link&) const = default;
};

constexpr std::uint32_t kIpUdpBytes = 28;  // IPv4 20 + UDP 8

struct Framing {
  std::uint32_t mtu_bytes = 1500;
  // A full packet: frame_bytes(payload) = payload + kIpUdpBytes + 14 (Ethernet), no preamble:
  // what a tbf-shaped link counts (design section 7: 1514 bytes carry 1472 of payload).
  std::uint32_t link_header_bytes = 14;
};

// What the parts of a network cost, in units of `currency`.
struct Price {
  std::string currency = "dollars";
  double host = 0;                     // what connects one host: its card
  double switch_box = 0;               // a box with `switches_per_box` switches
  std::uint32_t switches_per_box = 1;  // boxes are bought whole
  double link = 0;                     // a cable, of hosts and between switches alike
};

struct Cluster {
  std::string name;
  std::string description;
  Framing framing;
  std::optional<Price> price;
  std::vector<Host> hosts;
  std::vector<Switch> switches;
  std::vector<Link> links;

  std::uint32_t host_count() const { return static_cast<std::uint32_t>(hosts.size()); }
  bool is_host(NodeId node) const { return node.value < hosts.size(); }
  std::optional<base::HostId> find_host(std::string_view host_name) const;
  const std::string& node_name(NodeId node) const;
};

constexpr std::size_t kClusterFileBytesMax = 32u << 20;

// Errors are kBadInput and read "FILE:LINE: key `x`: what is wrong; expected ...".
base::Result<Cluster> load_cluster(const std::string& path);
base::Result<Cluster> parse_cluster(std::string_view text, std::string_view source_name);

// The same cluster with every rate multiplied, backplanes and caps included; queues and latencies
// stay.
Cluster scaled(const Cluster& cluster, double factor);
std::string to_toml(const Cluster& cluster);
// As the file has it.
std::string_view word(Architecture value);

// Builders. `groups` gives hosts per leaf, e.g. {8,8,8,8}; one group is a single switch. Hosts are
// h0.. in leaf order, switches leaf0.. and core.
struct TreeSpec {
  std::vector<std::uint32_t> groups;
  double host_mbit_s = 100;
  double uplink_mbit_s = 1000;
  std::uint32_t host_queue_packets = 43;
  std::uint32_t uplink_queue_packets = 45;
  std::uint32_t core_queue_packets = 820;
};
Cluster build_tree(const TreeSpec& spec);
Cluster build_one_switch(std::uint32_t hosts);

// Any tree: a switch with hosts and switches below it; depth and group sizes may differ. Hosts are
// numbered depth first, a switch's own hosts before those of its children.
struct TreeNode {
  struct Uplink {  // from this switch to the one above; unused at the root
    double rate_up_mbit_s = 1000;
    double rate_down_mbit_s = 1000;
    double latency_us = 0;
    std::uint32_t queue_up_packets = 45;
    std::uint32_t queue_down_packets = 820;
  };
  Switch
      node;  // an empty name is filled in: leaf0.. without children, core at the root, else mid0..
  std::uint32_t hosts = 0;
  double host_mbit_s = 100;
  std::uint32_t host_queue_packets = 43;
  Uplink uplink;
  std::vector<TreeNode> children;
};
Cluster build_tree(const TreeNode& root);

// The properties that all links of a generated network share. `queue_packets` is the length of each
// port's queue, or of each input buffer where the network is lossless: crossbars, cut-through, with
// back-pressure.
struct Medium {
  double rate_mbit_s = 1000;
  double latency_us = 0;
  std::uint32_t queue_packets = 100;
  bool lossless = false;
};

// Three levels of switches that carry all hosts at once: pods of m edge and m aggregation switches
// with m hosts at each edge, m^2 core switches, one link from every pod to each. All links alike,
// output-queued. `hosts` is pods x m^2 with at most 2 m pods: 16, 64, 128, 432, 1024, ..
base::Result<Cluster> build_fat_tree(std::uint32_t hosts, const Medium& medium = {});

// The switch of 004, a large one made of small ones, as those of InfiniBand are: 144 ports, 12 leaf
// and 12 spine crossbars with a link from every leaf to every spine, lossless, 4x DDR, packets of
// 2 KiB.
Cluster build_ib_144();

// For schedules: position of each host in the switch hierarchy. level[0] is the leaf index of each
// host, level[1] the index of the switch above the leaf, ... and the last level one group of all.
// Indices are dense, in order of first appearance over the hosts. Partitions are nested: hosts that
// share level[l] share level[l+1]. The root is the centre of the tree; where a host sits higher
// than others, its own switch stands in for the levels it lacks below. A graph that is not a tree
// gives an error.
struct Hierarchy {
  std::vector<std::vector<std::uint32_t>> level;  // level[l][host]
  // The same of these hosts alone, in their order.
  std::vector<std::vector<std::uint32_t>> of(std::span<const base::HostId> hosts) const;
};
base::Result<Hierarchy> hierarchy(const Cluster& cluster);
// The same for any cluster: where the graph is no tree, "above" means nothing and the leaf switches
// are the only level. This is what schedules are mapped to.
Hierarchy schedule_hierarchy(const Cluster& cluster);
// The root of the hierarchy: the switch in the middle of the longest route between two hosts.
NodeId root_switch(const Cluster& cluster);

// Sites: parts of a cluster that lie far from each other. A host is where its switch is.
struct Sites {
  std::vector<std::string> names;  // in the order of their first hosts
  std::vector<std::uint32_t> of;   // [host]; empty: the cluster file names none
};
Sites sites(const Cluster& cluster);
// The longest route between two of the hosts, by the latencies of its links alone. Where several
// routes lead to a host, the one with the least latency counts.
double latency_seconds(const Cluster& cluster, std::span<const base::HostId> hosts);

// Payload of a full packet.
std::uint32_t payload_bytes(const Framing& framing);
// Bytes that one message of `bytes` takes on a link with the least framing: full packets of mtu -
// 28 payload bytes and one shorter packet at the end, each + 28 + link header.
std::uint64_t framed_bytes(const Framing& framing, std::uint64_t bytes);

// kPerMessage: each message has packets of its own. kShared: messages share packets, which are all
// full; plans that combine small messages cannot send less than that.
enum class Packing : std::uint8_t { kPerMessage, kShared };

// One level of links in one direction, and what the exchange asks of its busiest link.
struct LevelLimit {
  // "host link up", "leaf uplink down", "level 2 uplink up", ..; "both ways" where a cap joins
  // both; "host links up" of all links of a host; "trunks out" around switches joined by several
  // paths.
  std::string level;
  double seconds = 0;   // time the busiest directed link of this level needs
  std::string busiest;  // its two node names: "leaf0 -> core"; "h0 -> *" where it is several links
  double rate_mbit_s = 0;
  double bytes = 0;  // framed bytes that must cross it
};
// T >= max over directed links of bytes that must cross it / its rate (reference section 2), with
// minimal framing. `hosts`: the participants, one rank each. `bytes`: per ordered pair. In a tree
// every link is a cut, so each link gives a limit. Where several paths join switches, the cuts
// tried are those around each switch and around each switch with its nearest 1, 2, .. others, while
// that is quick; other cuts may give more (Python: allemande.flow_limit).
std::vector<LevelLimit> alltoall_limits(const Cluster& cluster, std::span<const base::HostId> hosts,
                                        std::uint64_t bytes,
                                        Packing packing = Packing::kPerMessage);
double alltoall_limit_seconds(const Cluster& cluster, std::span<const base::HostId> hosts,
                              std::uint64_t bytes, Packing packing = Packing::kPerMessage);
// The same for blocks that differ. `hosts`: the host of each rank. Ranks may share one; what they
// send each other crosses no link. `bytes`: [sender * ranks + receiver].
std::vector<LevelLimit> traffic_limits(const Cluster& cluster, std::span<const base::HostId> hosts,
                                       std::span<const std::uint64_t> bytes,
                                       Packing packing = Packing::kPerMessage);
double traffic_limit_seconds(const Cluster& cluster, std::span<const base::HostId> hosts,
                             std::span<const std::uint64_t> bytes,
                             Packing packing = Packing::kPerMessage);

// The least that must be cut to part the hosts into two halves (sizes differ by one if odd): the
// fewest links, and by itself the least bandwidth from one half to the other (001: count bandwidth,
// not links). Hosts stay with their switch where halves of whole switches exist (8x2 has one link
// of 1 Gbit/s, 000 section 4.2); else as few hosts as possible are parted from their switch.
struct Bisection {
  std::uint32_t links = 0;
  double mbit_s = 0;
};
// Exact for trees of any size and for graphs of up to kBisectionSwitchesMax switches; else an
// error.
inline constexpr std::uint32_t kBisectionSwitchesMax = 18;
// Hosts with several links give an error.
base::Result<Bisection> bisection(const Cluster& cluster);

// What the cluster's parts cost together; nothing without a price table.
struct Cost {
  double hosts = 0, switches = 0, links = 0;
  double total() const { return hosts + switches + links; }
};
std::optional<Cost> cost(const Cluster& cluster);

// Says which assumptions of the papers do not hold in this cluster: d1*c1 <= c2, backplanes that
// carry all ports, queues of a packet or more, equal host links, one path between two hosts.
std::vector<std::string> assumption_warnings(const Cluster& cluster);

}  // namespace alm::topology

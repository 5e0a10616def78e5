// Window, grain and their bounds from the cluster file (000 Eq 3 and 4, reference section 3).
//
// Eq 3 for any link: with n of the p participants on one side, n(p-n) packets cross it each way in
// the p-1 steps of one item, nu = n(p-n)/(p-1) per step; a host link has nu = 1. Each link has two
// egress queues, one per direction; the port with the least B_L / nu gives the window. A buffer
// shared by all ports of a switch counts as one port with the sum of their nu.
// Where c1 * nu > c2 the link is the limit of the exchange: all that its n senders have outstanding
// gathers there, and n takes the place of nu. So it does at an input-buffered port where the parts
// beyond are of different sizes: nu is a mean there, and steps in which all n send come together.
// An uplink that carries all that its switch can take in (d1 * c1 <= c2) never holds more than a
// packet per input. That port does not count if its queue is as long, unless the switch is
// input-buffered: there the head of line waits for whichever port, and Eq 4 stands as published.
// An exchange so small that all of it fits the queues needs no window: n(p-n)/(p-1) of what each
// rank sends crosses a link, so B_L / nu packets per rank fit, the same figure with the ports that
// cannot fill up left out whatever their switch (an input buffer holds the packets of one host
// only). A switch that waits instead of dropping loses nothing: there the window keeps packets from
// standing in each other's way, but is no less than keeps a host busy. Switches joined by several
// paths: the trunks of one switch are taken to share its traffic evenly.
#include "plan/tune.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <queue>
#include <utility>

#include "topology/graph.h"

namespace alm::plan {
namespace {

using topology::Adjacency;
using topology::Cluster;
using topology::Edge;
using topology::kNoNode;
using topology::Link;
using topology::NodeId;

constexpr std::uint32_t kGsoBytesMax = 65507;  // what one UDP_SEGMENT send may carry
constexpr std::uint32_t kGsoSegmentsMax = 64;  // UDP_MAX_SEGMENTS
// A train fills the link for as long as one full frame does at 1 Gbit/s: a send call costs a few
// microseconds, so that one core keeps up and slower links keep the packet shuffle of the papers.
constexpr double kTrainUs = 12.112;
constexpr std::uint32_t kTrainsPerWindow = 4;  // keeps g * nu within a quarter of the queue
// Where an uplink is the limit, all that is outstanding waits in its queue all the time, and
// acknowledgements and probes take places there as well. With 8 of 10 places for data (shallow-4x2)
// every other exchange lost a packet.
constexpr double kControlPackets = 3;
// Packets of several senders meet at a port by chance. Queues of many places do not fill by that,
// short ones do where all that may be outstanding fits them exactly (docs/adr/0004).
constexpr double kShortQueue = 24;
constexpr double kPartOfShort = 0.5;
constexpr std::uint32_t kLeastOfShort = 3;
// Where nothing is lost. On Myrinets of 16 hosts 4 to 8 packets give 98 % of the limit, 1 packet 74
// % and 16 packets 88 % on a chain, where heads of lines wait (docs/adr/0035).
constexpr std::uint32_t kLeastLossless = 8;
constexpr double kTolerance = 1e-9;  // of rates computed in two ways

std::uint32_t at_least_one(double value) {
  constexpr double kMost = 1e9;  // queues are 32-bit counts
  return static_cast<std::uint32_t>(std::clamp(std::floor(value + kTolerance), 1.0, kMost));
}

class Tuner {
 public:
  Tuner(const Cluster& cluster, std::span<const base::HostId> hosts)
      : cluster_(cluster),
        adjacency_(cluster),
        walk_(topology::walk(cluster, adjacency_)),
        p_(static_cast<double>(hosts.size())),
        hosts_(hosts),
        below_(adjacency_.node_count(), 0),
        inflow_(adjacency_.node_count()) {
    for (const base::HostId host : hosts) below_[host.value] += 1;
  }

  Tuning run() {
    out_.mtu_bytes = cluster_.framing.mtu_bytes;
    set_host_rate();
    set_latency();
    set_window();
    set_grain();
    out_.burst_packets = std::max(out_.burst_packets, out_.window_packets);
    if (out_.window_packets < out_.window_packets_min) warn_window();
    return std::move(out_);
  }

 private:
  double frame_us(double rate_mbit_s) const {
    constexpr double kBitsPerByte = 8;
    return (cluster_.framing.mtu_bytes + cluster_.framing.link_header_bytes) * kBitsPerByte /
           rate_mbit_s;
  }

  // The exchange is symmetric, so that its slowest link sets the pace of everybody.
  void set_host_rate() {
    for (const base::HostId host : hosts_) {
      double rate = 0;
      for (const Edge& edge : adjacency_[host.value]) {
        const Link& link = cluster_.links[edge.link];
        rate =
            std::max(rate, std::min(rate_from(link, host.value), rate_towards(link, host.value)));
      }
      fastest_mbit_s_ = std::max(fastest_mbit_s_, rate);
      if (rate > 0 && (out_.host_rate_mbit_s == 0 || rate < out_.host_rate_mbit_s)) {
        out_.host_rate_mbit_s = rate;
      }
    }
    if (out_.host_rate_mbit_s > 0) out_.packet_time_us = frame_us(out_.host_rate_mbit_s);
  }

  // A cut-through switch passes the head of a frame on at once; all others wait for its tail.
  double hop_us(std::uint32_t node, const Link& link) const {
    const bool cut_through = !cluster_.is_host(NodeId{node}) &&
                             cluster_.switches[node - cluster_.host_count()].switching ==
                                 topology::Switching::kCutThrough;
    return link.latency_us + (cut_through ? 0 : frame_us(rate_from(link, node)));
  }

  // Participant farthest from `start` and how long a frame takes to it.
  std::pair<std::uint32_t, double> farthest(std::uint32_t start) const {
    using Entry = std::pair<double, std::uint32_t>;
    std::vector<double> best(adjacency_.node_count(), -1);
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
    open.push({0, start});
    while (!open.empty()) {
      const auto [time, node] = open.top();
      open.pop();
      if (best[node] >= 0) continue;
      best[node] = time;
      for (const Edge& edge : adjacency_[node]) {
        open.push({time + hop_us(node, cluster_.links[edge.link]), edge.peer});
      }
    }
    std::pair<std::uint32_t, double> out{start, 0};
    for (const base::HostId host : hosts_) {
      if (best[host.value] > out.second) out = {host.value, best[host.value]};
    }
    return out;
  }

  // Twice to the farthest: in a tree that is the longest way.
  void set_latency() {
    if (hosts_.empty()) return;
    const auto [end, time] = farthest(hosts_.front().value);
    out_.latency_us = std::max(time, farthest(end).second);
    if (out_.packet_time_us > 0) {
      out_.window_packets_min = static_cast<std::uint32_t>(
          std::max(1.0, std::ceil(out_.latency_us / out_.packet_time_us - kTolerance)));
    }
  }

  void set_window() {
    if (p_ < 2) return;
    for (auto it = walk_.order.rbegin(); it != walk_.order.rend(); ++it) {
      if (walk_.parent[*it] != kNoNode) below_[walk_.parent[*it]] += below_[*it];
    }
    for (std::uint32_t node = cluster_.host_count(); node < adjacency_.node_count(); ++node) {
      for (const Edge& edge : adjacency_[node]) inflow_[node] += inflow(node, edge);
    }
    for (std::uint32_t node = 0; node < adjacency_.node_count(); ++node) {
      if (!walk_.bridge[node]) continue;
      const Link& link = cluster_.links[walk_.parent_link[node]];
      consider(link, node, walk_.parent[node], below_[node], 1);
      consider(link, walk_.parent[node], node, below_[node], 1);
    }
    for (std::uint32_t node = cluster_.host_count(); node < adjacency_.node_count(); ++node) {
      consider_trunks(node);
      consider_pool(node);
    }
  }

  // The links of a switch to others that are on a cycle, hence alternatives to each other.
  void consider_trunks(std::uint32_t node) {
    double inside = 0;
    std::vector<Edge> trunks;
    for (const Edge& edge : adjacency_[node]) {
      if (cluster_.is_host(NodeId{edge.peer})) {
        inside += below_[edge.peer];
      } else if (!is_bridge(node, edge)) {
        trunks.push_back(edge);
      }
    }
    for (const Edge& edge : trunks) {
      const Link& link = cluster_.links[edge.link];
      consider(link, node, edge.peer, inside, static_cast<double>(trunks.size()));
      consider(link, edge.peer, node, inside, static_cast<double>(trunks.size()));
    }
  }

  bool is_bridge(std::uint32_t node, const Edge& edge) const {
    const std::uint32_t child = walk_.parent_link[node] == edge.link ? node : edge.peer;
    return walk_.parent_link[child] == edge.link && walk_.bridge[child];
  }

  // What can come into a switch at once: over links with participants behind them.
  struct Inflow {
    double mbit_s = 0;
    std::uint32_t links = 0;
    Inflow& operator+=(const Inflow& other) {
      mbit_s += other.mbit_s;
      links += other.links;
      return *this;
    }
  };

  Inflow inflow(std::uint32_t node, const Edge& edge) const {
    if (!is_bridge(node, edge)) return {rate_towards(cluster_.links[edge.link], node), 1};
    const double behind = walk_.parent[edge.peer] == node ? below_[edge.peer] : p_ - below_[node];
    if (behind <= 0) return {};
    return {std::min(rate_towards(cluster_.links[edge.link], node), behind * fastest_mbit_s_), 1};
  }

  // Takes at most one packet per input at a time, because it sends as fast as its switch receives.
  bool never_queues(const Link& link, std::uint32_t from, std::uint32_t to, double queue) const {
    if (cluster_.is_host(NodeId{to})) return false;
    const Inflow back =
        inflow(from, {to, static_cast<std::uint32_t>(&link - cluster_.links.data())});
    return inflow_[from].mbit_s - back.mbit_s <= rate_from(link, from) * (1 + kTolerance) &&
           inflow_[from].links - back.links <= queue;
  }

  // The egress port at `from` towards `to`, on one of `paths` that share what crosses between
  // `inside` participants and the rest.
  void consider(const Link& link, std::uint32_t from, std::uint32_t to, double inside,
                double paths) {
    if (cluster_.is_host(NodeId{from})) return;  // a host's own queue stops it, it loses nothing
    const double nu = inside * (p_ - inside) / (p_ - 1) / paths;
    if (nu <= 0) return;
    const double queue = link.from.value == from ? link.queue_up_packets : link.queue_down_packets;
    const bool fills_up = !never_queues(link, from, to, queue);
    const bool waits = waits_at(from);
    if (fills_up && !waits) limit_burst(queue, nu);
    const bool input_buffered = switch_at(from).architecture == topology::Architecture::kInput;
    if (!fills_up && !input_buffered) return;
    double rate = rate_from(link, from);
    if (link.bidirectional_cap_mbit_s > 0) rate = std::min(rate, link.bidirectional_cap_mbit_s / 2);
    const bool is_limit = nu * out_.host_rate_mbit_s > rate * (1 + kTolerance);
    const bool at_once = is_limit || (input_buffered && !waits && has_uneven_parts(from, to));
    const double share = at_once ? std::max(nu, std::min(inside, p_ - inside) / paths) : nu;
    take(queue, is_limit && !waits ? kControlPackets : 0, nu, share, waits,
         cluster_.node_name(NodeId{from}) + " -> " + cluster_.node_name(NodeId{to}));
  }

  // Whether the upper of two joined switches has different numbers of participants below its links.
  bool has_uneven_parts(std::uint32_t from, std::uint32_t to) const {
    const std::uint32_t upper = walk_.parent[from] == to ? to : from;
    double least = p_, most = 0;
    for (const Edge& edge : adjacency_[upper]) {
      const double below = below_[edge.peer];
      if (walk_.parent[edge.peer] != upper || below == 0) continue;
      least = std::min(least, below);
      most = std::max(most, below);
    }
    return least < most;
  }

  // Every packet that passes the switch takes a place in its shared buffer.
  void consider_pool(std::uint32_t node) {
    if (switch_at(node).buffer_packets == 0) return;
    double nu = 0;
    for (const Edge& edge : adjacency_[node]) {
      if (!is_bridge(node, edge)) continue;
      const double behind = walk_.parent[edge.peer] == node ? below_[edge.peer] : p_ - below_[node];
      nu += behind * (p_ - behind) / (p_ - 1);
    }
    if (nu <= 0) return;
    if (!waits_at(node)) limit_burst(switch_at(node).buffer_packets, nu);
    take(switch_at(node).buffer_packets, 0, nu, nu, waits_at(node),
         "buffer of " + switch_at(node).name);
  }

  void limit_burst(double queue, double nu) {
    const std::uint32_t burst = at_least_one(queue / nu);
    if (out_.burst_packets == 0 || burst < out_.burst_packets) out_.burst_packets = burst;
  }

  bool waits_at(std::uint32_t node) const {
    return switch_at(node).flow_control == topology::FlowControl::kBackPressure;
  }

  // Of the queue's places `spare` are not for data. `waits`: it cannot overflow.
  void take(double queue, double spare, double nu, double share, bool waits,
            const std::string& port) {
    std::uint32_t window = at_least_one((queue - spare) / share);
    if (waits) {
      window = std::max({window, kLeastLossless, 2 * out_.window_packets_min});
    } else if (spare == 0 && queue < kShortQueue) {
      window =
          std::max(at_least_one(queue / share * kPartOfShort), std::min(window, kLeastOfShort));
    }
    if (!out_.contended_port.empty() && window >= out_.window_packets) return;
    out_.nu = nu;
    out_.window_packets = window;
    out_.window_with_acks = at_least_one(queue / (2 * nu));
    out_.contended_port = port;
    contended_queue_ = queue;
  }

  const topology::Switch& switch_at(std::uint32_t node) const {
    return cluster_.switches[node - cluster_.host_count()];
  }

  void set_grain() {
    if (out_.packet_time_us <= 0) return;
    const std::uint32_t payload =
        std::max(cluster_.framing.mtu_bytes, topology::kIpUdpBytes + 1) - topology::kIpUdpBytes;
    const std::uint32_t by_kernel = std::clamp(kGsoBytesMax / payload, 1u, kGsoSegmentsMax);
    const std::uint32_t by_window = std::max(1u, out_.window_packets / kTrainsPerWindow);
    const auto by_rate = static_cast<std::uint32_t>(
        std::clamp(std::ceil(kTrainUs / out_.packet_time_us - kTolerance), 1.0,
                   static_cast<double>(kGsoSegmentsMax)));
    out_.grain_packets = std::min({by_rate, by_window, by_kernel});
  }

  void warn_window() {
    out_.warnings.push_back(fmt::format(
        "window of {} packets (queue of {} packets at {}, nu = {:.2f}) is below the {} packets "
        "(L/g) that keep a host busy over {:.0f} us: expect at most {:.0f} % of the bandwidth; a "
        "longer queue there would help",
        out_.window_packets, contended_queue_, out_.contended_port, out_.nu,
        out_.window_packets_min, out_.latency_us,
        100.0 * out_.window_packets / out_.window_packets_min));
  }

  const Cluster& cluster_;
  Adjacency adjacency_;
  topology::Walk walk_;
  double p_;
  std::span<const base::HostId> hosts_;
  std::vector<double> below_;   // participants, by node
  std::vector<Inflow> inflow_;  // by node; of switches
  double fastest_mbit_s_ = 0;   // of the participants' links
  double contended_queue_ = 0;
  Tuning out_;
};

}  // namespace

Tuning tune(const Cluster& cluster, std::span<const base::HostId> hosts) {
  return Tuner(cluster, hosts).run();
}

}  // namespace alm::plan

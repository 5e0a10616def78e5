// With n of the p participants on one side of a link, n(p-n) packets cross it each way in the p-1
// steps of one item: nu = n(p-n)/(p-1) per step (000 Eq 3). A host link has nu = 1. A buffer that
// is shared by all ports of a switch counts as one port with the sum of their nu.
#include "plan/ports.h"

#include <algorithm>
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

class Ports {
 public:
  Ports(const Cluster& cluster, std::span<const base::HostId> hosts, double host_mbit_s)
      : cluster_(cluster),
        adjacency_(cluster),
        walk_(topology::walk(cluster, adjacency_)),
        p_(static_cast<double>(hosts.size())),
        host_mbit_s_(host_mbit_s),
        below_(adjacency_.node_count(), 0),
        inflow_(adjacency_.node_count()) {
    for (const base::HostId host : hosts) {
      below_[host.value] += 1;
      for (const Edge& edge : adjacency_[host.value]) {
        const Link& link = cluster.links[edge.link];
        fastest_mbit_s_ =
            std::max(fastest_mbit_s_, std::min(topology::rate_from(link, host.value),
                                               topology::rate_towards(link, host.value)));
      }
    }
  }

  std::vector<Port> run() {
    if (p_ < 2) return {};
    for (auto it = walk_.order.rbegin(); it != walk_.order.rend(); ++it) {
      if (walk_.parent[*it] != kNoNode) below_[walk_.parent[*it]] += below_[*it];
    }
    for (std::uint32_t node = cluster_.host_count(); node < adjacency_.node_count(); ++node) {
      for (const Edge& edge : adjacency_[node]) inflow_[node] += inflow(node, edge);
    }
    for (std::uint32_t node = 0; node < adjacency_.node_count(); ++node) {
      if (!walk_.bridge[node]) continue;
      const Link& link = cluster_.links[walk_.parent_link[node]];
      add(link, node, walk_.parent[node], below_[node], 1);
      add(link, walk_.parent[node], node, below_[node], 1);
    }
    for (std::uint32_t node = cluster_.host_count(); node < adjacency_.node_count(); ++node) {
      add_trunks(node);
      add_pool(node);
    }
    return std::move(out_);
  }

 private:
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

  // The egress port at `from` towards `to`, on one of `paths` that share what crosses between
  // `inside` participants and the rest.
  void add(const Link& link, std::uint32_t from, std::uint32_t to, double inside, double paths) {
    if (cluster_.is_host(NodeId{from})) return;
    const double nu = inside * (p_ - inside) / (p_ - 1) / paths;
    if (nu <= 0) return;
    Port port;
    port.name = cluster_.node_name(NodeId{from}) + " -> " + cluster_.node_name(NodeId{to});
    port.queue = link.from.value == from ? link.queue_up_packets : link.queue_down_packets;
    port.nu = nu;
    port.hosts = std::max(nu, std::min(inside, p_ - inside) / paths);
    double rate = rate_from(link, from);
    if (link.bidirectional_cap_mbit_s > 0) rate = std::min(rate, link.bidirectional_cap_mbit_s / 2);
    port.load = nu * host_mbit_s_ / rate;
    port.to_host = cluster_.is_host(NodeId{to});
    port.waits = waits_at(from);
    port.fills_up = !never_queues(link, from, to, port.queue);
    port.input_buffered = switch_at(from).architecture == topology::Architecture::kInput;
    out_.push_back(std::move(port));
  }

  // The links of a switch to others that are on a cycle, hence alternatives to each other.
  void add_trunks(std::uint32_t node) {
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
      add(link, node, edge.peer, inside, static_cast<double>(trunks.size()));
      add(link, edge.peer, node, inside, static_cast<double>(trunks.size()));
    }
  }

  // Every packet that passes the switch takes a place in its shared buffer.
  void add_pool(std::uint32_t node) {
    if (switch_at(node).buffer_packets == 0) return;
    Port port;
    for (const Edge& edge : adjacency_[node]) {
      if (!is_bridge(node, edge)) continue;
      const double behind = walk_.parent[edge.peer] == node ? below_[edge.peer] : p_ - below_[node];
      port.nu += behind * (p_ - behind) / (p_ - 1);
    }
    if (port.nu <= 0) return;
    port.name = "buffer of " + switch_at(node).name;
    port.queue = switch_at(node).buffer_packets;
    port.hosts = port.nu;
    port.waits = waits_at(node);
    port.pool = true;
    out_.push_back(std::move(port));
  }

  bool is_bridge(std::uint32_t node, const Edge& edge) const {
    const std::uint32_t child = walk_.parent_link[node] == edge.link ? node : edge.peer;
    return walk_.parent_link[child] == edge.link && walk_.bridge[child];
  }

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

  bool waits_at(std::uint32_t node) const {
    return switch_at(node).flow_control == topology::FlowControl::kBackPressure;
  }

  const topology::Switch& switch_at(std::uint32_t node) const {
    return cluster_.switches[node - cluster_.host_count()];
  }

  const Cluster& cluster_;
  Adjacency adjacency_;
  topology::Walk walk_;
  const double p_;
  const double host_mbit_s_;
  double fastest_mbit_s_ = 0;   // of the participants' links
  std::vector<double> below_;   // participants, by node
  std::vector<Inflow> inflow_;  // by node; of switches
  std::vector<Port> out_;
};

}  // namespace

std::vector<Port> ports_of(const Cluster& cluster, std::span<const base::HostId> hosts,
                           double host_mbit_s) {
  return Ports(cluster, hosts, host_mbit_s).run();
}

}  // namespace alm::plan

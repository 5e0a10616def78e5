// What the papers take for granted and a cluster may not grant (docs/cluster-file.md names them).
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "base/hostlist.h"
#include "topology/graph.h"

namespace alm::topology {
namespace {

class Warnings {
 public:
  explicit Warnings(const Cluster& cluster)
      : cluster_(cluster), adjacency_(cluster), walk_(walk(cluster, adjacency_)) {}

  std::vector<std::string> run() {
    uplinks();
    backplanes();
    queues();
    host_rates();
    paths();
    for (const std::string& text : order_) {
      out_.push_back(fmt::format("{}: {}", base::compress_hostlist(names_[text]), text));
    }
    return std::move(out_);
  }

 private:
  // Nodes with the same trouble share a warning.
  void warn(std::uint32_t node, const std::string& text) {
    auto& names = names_[text];
    if (names.empty()) order_.push_back(text);
    names.push_back(cluster_.node_name(NodeId{node}));
  }

  // d1*c1 <= c2 (000 section 3), at every switch with something above it.
  void uplinks() {
    std::vector<double> sent(adjacency_.node_count(), 0);  // by the hosts below
    std::vector<std::uint32_t> hosts(adjacency_.node_count(), 0);
    for (auto it = walk_.order.rbegin(); it != walk_.order.rend(); ++it) {
      const std::uint32_t parent = walk_.parent[*it];
      if (parent == kNoNode) continue;
      if (cluster_.is_host(NodeId{*it})) {
        sent[*it] = rate_from(cluster_.links[walk_.parent_link[*it]], *it);
        hosts[*it] = 1;
      }
      // Behind a loop "below" means nothing: only the switch's own hosts count.
      if (walk_.bridge[*it]) {
        sent[parent] += sent[*it];
        hosts[parent] += hosts[*it];
      }
    }
    for (std::uint32_t node = cluster_.host_count(); node < adjacency_.node_count(); ++node) {
      const double above = rate_above(node);
      if (above == 0 || sent[node] <= above) continue;
      warn(node, fmt::format("{} hosts can send {:g} Mbit/s, more than the {:g} Mbit/s above them: "
                             "packets wait at that port; balanced schedules keep within its queue, "
                             "other traffic may not",
                             hosts[node], sent[node], above));
    }
  }

  // The slower direction of what leads away from the hosts of a switch; 0 where nothing does.
  double rate_above(std::uint32_t node) const {
    double out = 0, in = 0;
    for (const Edge& edge : adjacency_[node]) {
      if (cluster_.is_host(NodeId{edge.peer})) continue;
      if (walk_.parent_link[edge.peer] == edge.link && walk_.bridge[edge.peer]) continue;
      const Link& link = cluster_.links[edge.link];
      const double half = link.bidirectional_cap_mbit_s > 0 ? link.bidirectional_cap_mbit_s / 2
                                                            : rate_from(link, node);
      out += std::min(rate_from(link, node), half);
      in += std::min(rate_towards(link, node), half);
    }
    return std::min(out, in);
  }

  void backplanes() {
    for (std::uint32_t i = 0; i < cluster_.switches.size(); ++i) {
      const double backplane = cluster_.switches[i].backplane_mbit_s;
      const std::uint32_t node = cluster_.host_count() + i;
      double demand = 0;
      for (const Edge& edge : adjacency_[node]) {
        demand += rate_towards(cluster_.links[edge.link], node);
      }
      if (backplane == 0 || demand <= backplane) continue;
      warn(node,
           fmt::format("ports can take in {:g} Mbit/s, more than the backplane of {:g} Mbit/s: "
                       "packets may be lost inside the switch",
                       demand, backplane));
    }
  }

  void queues() {
    for (const Link& link : cluster_.links) {
      for (const auto& [end, packets] : {std::pair(link.from, link.queue_up_packets),
                                         std::pair(link.to, link.queue_down_packets)}) {
        if (packets > 0) continue;
        warn(end.value, "a port has no queue: any two packets that meet there lose one");
      }
    }
  }

  void host_rates() {
    double slowest = 0, fastest = 0;
    for (std::uint32_t host = 0; host < cluster_.host_count(); ++host) {
      for (const Edge& edge : adjacency_[host]) {
        const Link& link = cluster_.links[edge.link];
        const double rate = std::min(rate_from(link, host), rate_towards(link, host));
        slowest = slowest == 0 ? rate : std::min(slowest, rate);
        fastest = std::max({fastest, rate_from(link, host), rate_towards(link, host)});
      }
    }
    if (slowest == fastest) return;
    out_.push_back(
        fmt::format("host links differ, from {:g} to {:g} Mbit/s: a schedule's steps last "
                    "as long as the slowest link needs",
                    slowest, fastest));
  }

  void paths() {
    if (is_tree(cluster_)) return;
    out_.push_back(
        "switches are joined by more than one path: schedules know the leaf switches alone, and "
        "limits are those of a flow over all paths");
  }

  const Cluster& cluster_;
  const Adjacency adjacency_;
  const Walk walk_;
  std::map<std::string, std::vector<std::string>> names_;  // text -> nodes
  std::vector<std::string> order_;
  std::vector<std::string> out_;
};

}  // namespace

std::vector<std::string> assumption_warnings(const Cluster& cluster) {
  return Warnings(cluster).run();
}

}  // namespace alm::topology

// The all-to-all limit: T >= max over directed links of bytes that must cross / rate (reference
// section 2). With b of the n participants below a link, b(n-b) messages cross it each way.
#include <algorithm>
#include <map>

#include "topology/graph.h"

namespace alm::topology {
namespace {

constexpr std::uint32_t kIpUdpBytes = 28;  // IPv4 20 + UDP 8
constexpr double kBitsPerByte = 8;
constexpr double kBitsPerMbit = 1e6;

// Worst of each level, in the order of `Key`.
class Levels {
 public:
  struct Key {
    std::uint32_t height;
    int direction;  // up, down, both ways
    auto operator<=>(const Key&) const = default;
  };

  void add(Key key, const std::string& level, double bytes, double rate,
           const std::string& busiest) {
    const double seconds = bytes > 0 ? bytes * kBitsPerByte / (rate * kBitsPerMbit) : 0;
    const auto [it, is_new] = worst_.try_emplace(key);
    if (is_new || seconds > it->second.seconds) {
      it->second = {level, seconds, busiest, rate, bytes};
    }
  }

  std::vector<LevelLimit> take() {
    std::vector<LevelLimit> out;
    for (auto& [key, limit] : worst_) out.push_back(std::move(limit));
    return out;
  }

 private:
  std::map<Key, LevelLimit> worst_;
};

std::string level_name(std::uint32_t height) {
  if (height == 0) return "host link";
  if (height == 1) return "leaf uplink";
  return "level " + std::to_string(height) + " uplink";
}

class Limits {
 public:
  Limits(const Cluster& cluster, std::span<const base::HostId> hosts, std::uint64_t bytes)
      : cluster_(cluster),
        adjacency_(cluster),
        walk_(walk(cluster, adjacency_)),
        message_(static_cast<double>(framed_bytes(cluster.framing, bytes))),
        total_(static_cast<double>(hosts.size())),
        own_(adjacency_.node_count(), 0) {
    for (const base::HostId host : hosts) own_[host.value] += 1;
  }

  std::vector<LevelLimit> run() {
    std::vector<double> below = own_;
    for (auto it = walk_.order.rbegin(); it != walk_.order.rend(); ++it) {
      if (walk_.parent[*it] != kNoNode) below[walk_.parent[*it]] += below[*it];
    }
    for (std::uint32_t node = 0; node < adjacency_.node_count(); ++node) {
      if (walk_.bridge[node]) add_bridge(node, crossing(below[node]));
    }
    for (std::uint32_t node = cluster_.host_count(); node < adjacency_.node_count(); ++node) {
      add_trunks(node);
    }
    return levels_.take();
  }

 private:
  double crossing(double inside) const { return inside * (total_ - inside) * message_; }

  void add_bridge(std::uint32_t node, double bytes) {
    const Link& link = cluster_.links[walk_.parent_link[node]];
    const std::uint32_t height = walk_.height[node];
    const std::string& low = cluster_.node_name(NodeId{node});
    const std::string& high = cluster_.node_name(NodeId{walk_.parent[node]});
    const std::string level = level_name(height);
    levels_.add({height, 0}, level + " up", bytes, rate_from(link, node), low + " -> " + high);
    levels_.add({height, 1}, level + " down", bytes, rate_towards(link, node), high + " -> " + low);
    if (link.bidirectional_cap_mbit_s > 0) {
      levels_.add({height, 2}, level + " both ways", 2 * bytes, link.bidirectional_cap_mbit_s,
                  low + " <-> " + high);
    }
  }

  // The cut around a switch and its hosts, where its links to other switches are no bridges.
  void add_trunks(std::uint32_t node) {
    double inside = 0, out = 0, in = 0;
    bool several_paths = false;
    for (const Edge& edge : adjacency_[node]) {
      if (edge.peer < cluster_.host_count()) {
        inside += own_[edge.peer];
        continue;
      }
      const Link& link = cluster_.links[edge.link];
      out += rate_from(link, node);
      in += rate_towards(link, node);
      several_paths = several_paths || !is_bridge(node, edge);
    }
    if (!several_paths || inside == 0) return;
    const std::string& name = cluster_.node_name(NodeId{node});
    constexpr std::uint32_t kAfterUplinks = UINT32_MAX;
    levels_.add({kAfterUplinks, 0}, "trunks out", crossing(inside), out, name + " -> *");
    levels_.add({kAfterUplinks, 1}, "trunks in", crossing(inside), in, "* -> " + name);
  }

  bool is_bridge(std::uint32_t node, const Edge& edge) const {
    for (const std::uint32_t lower : {node, edge.peer}) {
      if (walk_.parent_link[lower] == edge.link) return walk_.bridge[lower];
    }
    return false;
  }

  const Cluster& cluster_;
  const Adjacency adjacency_;
  const Walk walk_;
  const double message_, total_;
  std::vector<double> own_;  // by node: participants there
  Levels levels_;
};

}  // namespace

std::uint64_t framed_bytes(const Framing& framing, std::uint64_t bytes) {
  const std::uint64_t payload = framing.mtu_bytes - kIpUdpBytes;
  const std::uint64_t packets = bytes / payload + (bytes % payload == 0 ? 0 : 1);
  return bytes + packets * (kIpUdpBytes + framing.link_header_bytes);
}

std::vector<LevelLimit> alltoall_limits(const Cluster& cluster, std::span<const base::HostId> hosts,
                                        std::uint64_t bytes) {
  return Limits(cluster, hosts, bytes).run();
}

double alltoall_limit_seconds(const Cluster& cluster, std::span<const base::HostId> hosts,
                              std::uint64_t bytes) {
  double seconds = 0;
  for (const LevelLimit& limit : alltoall_limits(cluster, hosts, bytes)) {
    seconds = std::max(seconds, limit.seconds);
  }
  return seconds;
}

}  // namespace alm::topology

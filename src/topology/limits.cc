// The limit of an exchange: T >= max over directed links of bytes that must cross / rate (reference
// section 2). With b of n participants below a link, b(n-b) equal messages cross it each way. Where
// messages differ, what leaves a subtree is what its hosts send less what stays in it, and a
// message stays in all subtrees that hold the lowest common ancestor of its two ends.
#include <algorithm>
#include <cassert>
#include <map>

#include "topology/graph.h"

namespace alm::topology {
namespace {

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

// What messages of these bytes occupy on a link.
double occupied(const Framing& framing, std::uint64_t bytes, Packing packing) {
  if (packing == Packing::kPerMessage) return static_cast<double>(framed_bytes(framing, bytes));
  const std::uint64_t payload = payload_bytes(framing);
  return static_cast<double>(bytes) * static_cast<double>(framed_bytes(framing, payload)) /
         static_cast<double>(payload);
}

std::string level_name(std::uint32_t height) {
  if (height == 0) return "host link";
  if (height == 1) return "leaf uplink";
  return "level " + std::to_string(height) + " uplink";
}

// Framed bytes that leave and enter a set of hosts.
struct Crossing {
  double out = 0, in = 0;
};

// An exchange of equal messages, one rank per host: O(nodes), for clusters of any size.
class Equal {
 public:
  Equal(const Cluster& cluster, std::span<const base::HostId> hosts, std::uint64_t bytes,
        Packing packing)
      : message_(occupied(cluster.framing, bytes, packing)),
        total_(static_cast<double>(hosts.size())),
        own_(cluster.host_count(), 0) {
    for (const base::HostId host : hosts) own_[host.value] += 1;
  }

  void accumulate(const Walk& walk) {
    below_ = own_;
    below_.resize(walk.parent.size());
    for (auto it = walk.order.rbegin(); it != walk.order.rend(); ++it) {
      if (walk.parent[*it] != kNoNode) below_[walk.parent[*it]] += below_[*it];
    }
  }
  Crossing below(std::uint32_t node) const { return crossing(below_[node]); }
  Crossing around(std::span<const std::uint32_t> hosts) const {
    double inside = 0;
    for (const std::uint32_t host : hosts) inside += own_[host];
    return crossing(inside);
  }

 private:
  Crossing crossing(double inside) const {
    const double bytes = inside * (total_ - inside) * message_;
    return {bytes, bytes};
  }

  const double message_, total_;
  std::vector<double> own_;  // by host: participants there
  std::vector<double> below_;
};

// Any traffic. The ranks of one host send to those of another as one message: nothing frames less.
class Traffic {
 public:
  Traffic(const Cluster& cluster, std::span<const base::HostId> hosts,
          std::span<const std::uint64_t> bytes, Packing packing)
      : hosts_(cluster.host_count()), framed_(std::size_t{hosts_} * hosts_, 0) {
    std::vector<std::uint64_t> sum(framed_.size(), 0);
    for (std::size_t from = 0; from < hosts.size(); ++from) {
      for (std::size_t to = 0; to < hosts.size(); ++to) {
        if (hosts[from] == hosts[to]) continue;
        sum[at(hosts[from].value, hosts[to].value)] += bytes[from * hosts.size() + to];
      }
    }
    std::transform(sum.begin(), sum.end(), framed_.begin(), [&](std::uint64_t message) {
      return occupied(cluster.framing, message, packing);
    });
  }

  void accumulate(const Walk& walk) {
    below_.assign(walk.parent.size(), {});
    std::vector<double> inside(walk.parent.size(), 0);
    std::vector<std::uint32_t> depth(walk.parent.size(), 0);
    for (const std::uint32_t node : walk.order) {
      if (walk.parent[node] != kNoNode) depth[node] = depth[walk.parent[node]] + 1;
    }
    for (std::uint32_t from = 0; from < hosts_; ++from) {
      for (std::uint32_t to = 0; to < hosts_; ++to) {
        const double message = framed_[at(from, to)];
        if (message == 0) continue;
        below_[from].out += message;
        below_[to].in += message;
        std::uint32_t a = from, b = to;
        while (a != b) (depth[a] > depth[b] ? a : b) = walk.parent[depth[a] > depth[b] ? a : b];
        inside[a] += message;
      }
    }
    for (auto it = walk.order.rbegin(); it != walk.order.rend(); ++it) {
      const std::uint32_t parent = walk.parent[*it];
      if (parent != kNoNode) {
        below_[parent].out += below_[*it].out;
        below_[parent].in += below_[*it].in;
        inside[parent] += inside[*it];
      }
    }
    for (std::uint32_t node = 0; node < below_.size(); ++node) {
      below_[node].out -= inside[node];
      below_[node].in -= inside[node];
    }
  }
  Crossing below(std::uint32_t node) const { return below_[node]; }
  Crossing around(std::span<const std::uint32_t> hosts) const {
    std::vector<bool> inside(hosts_, false);
    for (const std::uint32_t host : hosts) inside[host] = true;
    Crossing sum;
    for (const std::uint32_t host : hosts) {
      for (std::uint32_t other = 0; other < hosts_; ++other) {
        if (inside[other]) continue;
        sum.out += framed_[at(host, other)];
        sum.in += framed_[at(other, host)];
      }
    }
    return sum;
  }

 private:
  std::size_t at(std::uint32_t from, std::uint32_t to) const {
    return std::size_t{from} * hosts_ + to;
  }

  const std::uint32_t hosts_;
  std::vector<double> framed_;  // [from host][to host]
  std::vector<Crossing> below_;
};

template <class Load>
class Limits {
 public:
  Limits(const Cluster& cluster, Load load)
      : cluster_(cluster),
        adjacency_(cluster),
        walk_(walk(cluster, adjacency_)),
        load_(std::move(load)) {
    load_.accumulate(walk_);
  }

  std::vector<LevelLimit> run() {
    for (std::uint32_t node = 0; node < adjacency_.node_count(); ++node) {
      if (walk_.bridge[node]) add_bridge(node, load_.below(node));
    }
    for (std::uint32_t node = cluster_.host_count(); node < adjacency_.node_count(); ++node) {
      add_trunks(node);
    }
    return levels_.take();
  }

 private:
  void add_bridge(std::uint32_t node, Crossing bytes) {
    const Link& link = cluster_.links[walk_.parent_link[node]];
    const std::uint32_t height = walk_.height[node];
    const std::string& low = cluster_.node_name(NodeId{node});
    const std::string& high = cluster_.node_name(NodeId{walk_.parent[node]});
    const std::string level = level_name(height);
    levels_.add({height, 0}, level + " up", bytes.out, rate_from(link, node), low + " -> " + high);
    levels_.add({height, 1}, level + " down", bytes.in, rate_towards(link, node),
                high + " -> " + low);
    if (link.bidirectional_cap_mbit_s > 0) {
      levels_.add({height, 2}, level + " both ways", bytes.out + bytes.in,
                  link.bidirectional_cap_mbit_s, low + " <-> " + high);
    }
  }

  // The cut around a switch and its hosts, where its links to other switches are no bridges.
  void add_trunks(std::uint32_t node) {
    double out = 0, in = 0;
    std::vector<std::uint32_t> hosts;
    bool several_paths = false;
    for (const Edge& edge : adjacency_[node]) {
      if (edge.peer < cluster_.host_count()) {
        hosts.push_back(edge.peer);
        continue;
      }
      const Link& link = cluster_.links[edge.link];
      out += rate_from(link, node);
      in += rate_towards(link, node);
      several_paths = several_paths || !is_bridge(node, edge);
    }
    if (!several_paths || hosts.empty()) return;
    const Crossing bytes = load_.around(hosts);
    const std::string& name = cluster_.node_name(NodeId{node});
    constexpr std::uint32_t kAfterUplinks = UINT32_MAX;
    levels_.add({kAfterUplinks, 0}, "trunks out", bytes.out, out, name + " -> *");
    levels_.add({kAfterUplinks, 1}, "trunks in", bytes.in, in, "* -> " + name);
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
  Load load_;
  Levels levels_;
};

double slowest(std::span<const LevelLimit> levels) {
  double seconds = 0;
  for (const LevelLimit& limit : levels) seconds = std::max(seconds, limit.seconds);
  return seconds;
}

}  // namespace

std::uint32_t payload_bytes(const Framing& framing) { return framing.mtu_bytes - kIpUdpBytes; }

std::uint64_t framed_bytes(const Framing& framing, std::uint64_t bytes) {
  const std::uint64_t payload = payload_bytes(framing);
  const std::uint64_t packets = bytes / payload + (bytes % payload == 0 ? 0 : 1);
  return bytes + packets * (kIpUdpBytes + framing.link_header_bytes);
}

std::vector<LevelLimit> alltoall_limits(const Cluster& cluster, std::span<const base::HostId> hosts,
                                        std::uint64_t bytes, Packing packing) {
  return Limits(cluster, Equal(cluster, hosts, bytes, packing)).run();
}

double alltoall_limit_seconds(const Cluster& cluster, std::span<const base::HostId> hosts,
                              std::uint64_t bytes, Packing packing) {
  return slowest(alltoall_limits(cluster, hosts, bytes, packing));
}

std::vector<LevelLimit> traffic_limits(const Cluster& cluster, std::span<const base::HostId> hosts,
                                       std::span<const std::uint64_t> bytes, Packing packing) {
  assert(bytes.size() == hosts.size() * hosts.size());
  return Limits(cluster, Traffic(cluster, hosts, bytes, packing)).run();
}

double traffic_limit_seconds(const Cluster& cluster, std::span<const base::HostId> hosts,
                             std::span<const std::uint64_t> bytes, Packing packing) {
  return slowest(traffic_limits(cluster, hosts, bytes, packing));
}

}  // namespace alm::topology

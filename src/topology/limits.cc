// The limit of an exchange: T >= max over directed links of bytes that must cross / rate (reference
// section 2). With b of n participants below a link, b(n-b) equal messages cross it each way. Where
// messages differ, what leaves a subtree is what its hosts send less what stays in it, and a
// message stays in all subtrees that hold the lowest common ancestor of its two ends. The bound of
// an exchange (bound.h) adds the least times before and after each link.
#include <algorithm>
#include <cassert>
#include <limits>
#include <map>
#include <optional>

#include "base/hostlist.h"
#include "topology/bound.h"
#include "topology/graph.h"
#include "topology/least_times.h"
#include "topology/loads.h"

namespace alm::topology {
namespace {

constexpr double kBitsPerByte = 8;
constexpr double kBitsPerMbit = 1e6;
constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kWorkMax = 2e7;  // beyond it only single switches are cut around

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
    // Sums in another order may differ in their last bits.
    constexpr double kTolerance = 1e-9;
    if (is_new || seconds > it->second.seconds * (1 + kTolerance)) {
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

// The least times before and after links that share what crosses them.
struct LeastTime {
  double before_s = kNever, after_s = kNever;
  void join(const LeastTimes& times, std::uint32_t link, std::uint32_t node) {
    before_s = std::min(before_s, times.before(link, node));
    after_s = std::min(after_s, times.after(link, node));
  }
  double seconds() const {
    return before_s == kNever || after_s == kNever ? 0 : before_s + after_s;
  }
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

  std::vector<LevelLimit> levels() {
    run();
    return levels_.take();
  }

  double bound_seconds() {
    const Parties parties = load_.parties();
    if (!parties.any()) return 0;
    const std::uint64_t frame = framed_bytes(cluster_.framing, parties.shortest);
    times_.emplace(cluster_, adjacency_, parties.sends, parties.receives,
                   static_cast<double>(frame));
    run();
    return bound_;
  }

 private:
  void run() {
    if (times_) find_trunk_time();
    for (std::uint32_t node = 0; node < adjacency_.node_count(); ++node) {
      if (walk_.bridge[node]) add_bridge(node, load_.below(node));
      if (cluster_.is_host(NodeId{node}) && adjacency_[node].size() > 1) add_host_links(node);
    }
    const std::uint32_t first = cluster_.host_count(), nodes = adjacency_.node_count();
    for (std::uint32_t node = first; node < nodes; ++node) {
      if (has_trunks(node)) add_cuts(node, 1);
    }
    const double switches = nodes - first;
    const double work = switches * (static_cast<double>(cluster_.links.size()) +
                                    cluster_.host_count() * load_.growth_cost());
    for (std::uint32_t node = first; node < nodes && work <= kWorkMax; ++node) {
      if (has_trunks(node)) add_cuts(node, nodes - first);
    }
  }

  void add(Levels::Key key, const std::string& level, double bytes, double rate,
           const std::string& busiest, double least_seconds) {
    levels_.add(key, level, bytes, rate, busiest);
    if (bytes > 0) {
      bound_ = std::max(bound_, least_seconds + bytes * kBitsPerByte / (rate * kBitsPerMbit));
    }
  }

  double least_seconds(std::uint32_t link, std::uint32_t node) const {
    return times_ ? times_->before(link, node) + times_->after(link, node) : 0;
  }

  // Every cut between switches is crossed by some of their trunks.
  void find_trunk_time() {
    for (std::uint32_t node = cluster_.host_count(); node < adjacency_.node_count(); ++node) {
      for (const Edge& edge : adjacency_[node]) {
        if (edge.peer < cluster_.host_count() || is_bridge(node, edge)) continue;
        if (rate_from(cluster_.links[edge.link], node) <= 0) continue;
        trunk_time_.join(*times_, edge.link, node);
      }
    }
  }

  void add_bridge(std::uint32_t node, Crossing bytes) {
    const std::uint32_t index = walk_.parent_link[node], parent = walk_.parent[node];
    const Link& link = cluster_.links[index];
    const std::uint32_t height = walk_.height[node];
    const std::string& low = cluster_.node_name(NodeId{node});
    const std::string& high = cluster_.node_name(NodeId{parent});
    const std::string level = level_name(height);
    add({height, 0}, level + " up", bytes.out, rate_from(link, node), low + " -> " + high,
        least_seconds(index, node));
    add({height, 1}, level + " down", bytes.in, rate_towards(link, node), high + " -> " + low,
        least_seconds(index, parent));
    if (link.bidirectional_cap_mbit_s > 0) {
      LeastTime least;
      for (const std::uint32_t from : {node, parent}) {
        if (times_ && rate_from(link, from) > 0) least.join(*times_, index, from);
      }
      add({height, 2}, level + " both ways", bytes.out + bytes.in, link.bidirectional_cap_mbit_s,
          low + " <-> " + high, least.seconds());
    }
  }

  void add_host_links(std::uint32_t host) {
    load_.clear();
    const Crossing bytes = load_.grow(host);
    double out = 0, in = 0;
    for (const Edge& edge : adjacency_[host]) {
      out += rate_from(cluster_.links[edge.link], host);
      in += rate_towards(cluster_.links[edge.link], host);
    }
    const std::string& name = cluster_.node_name(NodeId{host});
    add({0, 0}, "host links up", bytes.out, out, name + " -> *", 0);
    add({0, 1}, "host links down", bytes.in, in, "* -> " + name, 0);
  }

  bool has_trunks(std::uint32_t node) const {
    const auto edges = adjacency_[node];
    return std::any_of(edges.begin(), edges.end(), [&](const Edge& edge) {
      return edge.peer >= cluster_.host_count() && !is_bridge(node, edge);
    });
  }

  // Cuts around the nearest 1, 2, .. `most` switches and their hosts. On a ring these are all arcs.
  void add_cuts(std::uint32_t start, std::uint32_t most) {
    std::vector<bool> seen(adjacency_.node_count(), false), inside(adjacency_.node_count(), false);
    std::vector<std::uint32_t> queue{start};
    std::vector<std::string> names;
    seen[start] = true;
    load_.clear();
    double out = 0, in = 0;
    Crossing bytes;
    for (std::size_t at = 0; at < queue.size() && at < most; ++at) {
      const std::uint32_t node = queue[at];
      for (const Edge& edge : adjacency_[node]) {
        const Link& link = cluster_.links[edge.link];
        if (edge.peer < cluster_.host_count()) {
          bytes = load_.grow(edge.peer);
          continue;
        }
        // A link to one of those inside is cut no more.
        out += inside[edge.peer] ? -rate_towards(link, node) : rate_from(link, node);
        in += inside[edge.peer] ? -rate_from(link, node) : rate_towards(link, node);
        if (!seen[edge.peer]) queue.push_back(edge.peer);
        seen[edge.peer] = true;
      }
      inside[node] = true;
      names.push_back(cluster_.node_name(NodeId{node}));
      if (bytes.out > 0 || bytes.in > 0) add_cut(names, bytes, out, in);
    }
  }

  void add_cut(const std::vector<std::string>& names, Crossing bytes, double out, double in) {
    constexpr std::uint32_t kAfterUplinks = UINT32_MAX;
    constexpr double kRateNone = 1e-6;  // Mbit/s: what is left of a sum of rates that is 0
    constexpr std::size_t kNamesMax = 4;
    const std::string inside =
        names.size() <= kNamesMax
            ? base::compress_hostlist(names)
            : names.front() + " and " + std::to_string(names.size() - 1) + " switches near it";
    if (out > kRateNone) {
      add({kAfterUplinks, 0}, "trunks out", bytes.out, out, inside + " -> *",
          trunk_time_.seconds());
    }
    if (in > kRateNone) {
      add({kAfterUplinks, 1}, "trunks in", bytes.in, in, "* -> " + inside, trunk_time_.seconds());
    }
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
  std::optional<LeastTimes> times_;  // none: bytes alone
  LeastTime trunk_time_;
  double bound_ = 0;
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
  return Limits(cluster, Equal(cluster, hosts, bytes, packing)).levels();
}

double alltoall_limit_seconds(const Cluster& cluster, std::span<const base::HostId> hosts,
                              std::uint64_t bytes, Packing packing) {
  return slowest(alltoall_limits(cluster, hosts, bytes, packing));
}

std::vector<LevelLimit> traffic_limits(const Cluster& cluster, std::span<const base::HostId> hosts,
                                       std::span<const std::uint64_t> bytes, Packing packing) {
  assert(bytes.size() == hosts.size() * hosts.size());
  return Limits(cluster, Traffic(cluster, hosts, bytes, packing)).levels();
}

double traffic_limit_seconds(const Cluster& cluster, std::span<const base::HostId> hosts,
                             std::span<const std::uint64_t> bytes, Packing packing) {
  return slowest(traffic_limits(cluster, hosts, bytes, packing));
}

double alltoall_bound_seconds(const Cluster& cluster, std::span<const base::HostId> hosts,
                              std::uint64_t bytes, Packing packing) {
  return Limits(cluster, Equal(cluster, hosts, bytes, packing)).bound_seconds();
}

double traffic_bound_seconds(const Cluster& cluster, std::span<const base::HostId> hosts,
                             std::span<const std::uint64_t> bytes, Packing packing) {
  assert(bytes.size() == hosts.size() * hosts.size());
  return Limits(cluster, Traffic(cluster, hosts, bytes, packing)).bound_seconds();
}

}  // namespace alm::topology

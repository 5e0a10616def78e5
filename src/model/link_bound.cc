#include "model/link_bound.h"

#include <algorithm>
#include <cmath>

namespace alm::model {
namespace {

constexpr double kBytesPerMbit = 1e6 / 8;
constexpr double kMicrosecond = 1e-6;

}  // namespace

LinkBound::LinkBound(const topology::Cluster& cluster, std::span<const base::HostId> hosts,
                     std::uint32_t header_bytes)
    : cluster_(cluster),
      hosts_(hosts.begin(), hosts.end()),
      adjacency_(cluster),
      walk_(topology::walk(cluster, adjacency_)),
      depth_(adjacency_.node_count(), 0),
      payload_(topology::payload_bytes(cluster.framing) - header_bytes),
      overhead_(topology::kIpUdpBytes + cluster.framing.link_header_bytes + header_bytes),
      tree_(topology::is_tree(cluster)) {
  for (const std::uint32_t node : walk_.order) {
    if (walk_.parent[node] != topology::kNoNode) depth_[node] = depth_[walk_.parent[node]] + 1;
  }
}

double LinkBound::framed(double bytes) const {
  return bytes + std::ceil(bytes / payload_) * overhead_;
}

double LinkBound::seconds(std::span<const Message> messages, std::uint64_t bytes) const {
  if (!tree_) {
    // Cuts around subtrees and switches, as the topology knows them, of the sums between hosts.
    std::vector<std::uint64_t> traffic(hosts_.size() * hosts_.size(), 0);
    for (const Message& one : messages) {
      traffic[one.from * hosts_.size() + one.to] +=
          static_cast<std::uint64_t>(std::llround(one.blocks * static_cast<double>(bytes)));
    }
    return topology::traffic_limit_seconds(cluster_, hosts_, traffic);
  }
  return tree_seconds(messages, bytes, 0);
}

double LinkBound::uplink_seconds(std::span<const Message> messages, std::uint64_t bytes) const {
  return tree_ ? tree_seconds(messages, bytes, cluster_.host_count()) : 0;
}

double LinkBound::tree_seconds(std::span<const Message> messages, std::uint64_t bytes,
                               std::uint32_t first) const {
  std::vector<double> up(depth_.size(), 0), down(depth_.size(), 0);
  for (const Message& one : messages) {
    const double size = framed(one.blocks * static_cast<double>(bytes));
    std::uint32_t a = hosts_[one.from].value, b = hosts_[one.to].value;
    while (a != b) {
      if (depth_[a] > depth_[b]) {
        up[a] += size;
        a = walk_.parent[a];
      } else {
        down[b] += size;
        b = walk_.parent[b];
      }
    }
  }
  double worst = 0;
  for (std::uint32_t node = first; node < depth_.size(); ++node) {
    if (walk_.parent[node] == topology::kNoNode) continue;
    const topology::Link& link = cluster_.links[walk_.parent_link[node]];
    worst = std::max({worst, up[node] / (topology::rate_from(link, node) * kBytesPerMbit),
                      down[node] / (topology::rate_towards(link, node) * kBytesPerMbit)});
    if (link.bidirectional_cap_mbit_s > 0) {
      worst = std::max(worst,
                       (up[node] + down[node]) / (link.bidirectional_cap_mbit_s * kBytesPerMbit));
    }
  }
  return worst;
}

double LinkBound::complete_seconds(std::uint64_t bytes) const {
  const auto least = static_cast<double>(topology::framed_bytes(cluster_.framing, bytes));
  return topology::alltoall_limit_seconds(cluster_, hosts_, bytes) *
         framed(static_cast<double>(bytes)) / least;
}

double LinkBound::latency_seconds(std::uint32_t from, std::uint32_t to, double bytes) const {
  // The links from each end to where the two ways meet, as nodes below them.
  std::vector<std::uint32_t> up, down;
  std::uint32_t a = hosts_[from].value, b = hosts_[to].value;
  while (a != b) {
    if (depth_[a] >= depth_[b]) {
      up.push_back(a);
      a = walk_.parent[a];
    } else {
      down.push_back(b);
      b = walk_.parent[b];
    }
  }
  double head = 0, tail = 0;
  const auto pass = [&](std::uint32_t sender, const topology::Link& link, double rate_mbit_s) {
    const topology::NodeId node{sender};
    const bool cut_through =
        !cluster_.is_host(node) && cluster_.switches[sender - cluster_.host_count()].switching ==
                                       topology::Switching::kCutThrough;
    const double start = cut_through ? head : tail;
    const double wire = (bytes + overhead_) / (rate_mbit_s * kBytesPerMbit);
    tail = std::max(tail, start + wire) + link.latency_us * kMicrosecond;
    head = start + link.latency_us * kMicrosecond;
  };
  for (const std::uint32_t node : up) {
    const topology::Link& link = cluster_.links[walk_.parent_link[node]];
    pass(node, link, topology::rate_from(link, node));
  }
  for (auto node = down.rbegin(); node != down.rend(); ++node) {
    const topology::Link& link = cluster_.links[walk_.parent_link[*node]];
    pass(walk_.parent[*node], link, topology::rate_towards(link, *node));
  }
  return tail;
}

double LinkBound::distance_seconds(std::uint32_t from, std::uint32_t to) const {
  double micros = 0;
  std::uint32_t a = hosts_[from].value, b = hosts_[to].value;
  while (a != b) {
    std::uint32_t& lower = depth_[a] >= depth_[b] ? a : b;
    micros += cluster_.links[walk_.parent_link[lower]].latency_us;
    lower = walk_.parent[lower];
  }
  return micros * kMicrosecond;
}

double LinkBound::sending_seconds(std::uint32_t from, double bytes) const {
  const std::uint32_t host = hosts_[from].value;
  const topology::Link& link = cluster_.links[walk_.parent_link[host]];
  return (bytes + overhead_) / (topology::rate_from(link, host) * kBytesPerMbit);
}

}  // namespace alm::model

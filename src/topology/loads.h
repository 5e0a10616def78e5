// What an exchange asks of a cluster's links: the framed bytes that cross a link or leave a set of
// hosts, of equal messages and of any traffic.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "topology/cluster.h"
#include "topology/graph.h"

namespace alm::topology {

// What messages of these bytes occupy on a link.
inline double occupied(const Framing& framing, std::uint64_t bytes, Packing packing) {
  if (packing == Packing::kPerMessage) return static_cast<double>(framed_bytes(framing, bytes));
  const std::uint64_t payload = payload_bytes(framing);
  return static_cast<double>(bytes) * static_cast<double>(framed_bytes(framing, payload)) /
         static_cast<double>(payload);
}

// The shortest packet of a message by any protocol whose packets are full but for the last one. Its
// own headers take some of each: 24 bytes of ours, up to 52 of TCP's.
inline std::uint64_t shortest_packet(const Framing& framing, std::uint64_t bytes) {
  constexpr std::uint32_t kHeadersMax = 64;
  std::uint64_t least = bytes;
  for (std::uint32_t headers = 0; headers <= kHeadersMax; ++headers) {
    const std::uint64_t payload = payload_bytes(framing);
    if (payload > headers) least = std::min(least, (bytes - 1) % (payload - headers) + 1);
  }
  return least;
}

// Who takes part, and the shortest packet there need be.
struct Parties {
  std::vector<bool> sends, receives;  // by host
  std::uint64_t shortest = 1;         // bytes of payload
  bool any() const { return std::find(sends.begin(), sends.end(), true) != sends.end(); }
};

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
        own_(cluster.host_count(), 0),
        shortest_(packing == Packing::kShared || bytes == 0
                      ? 1
                      : shortest_packet(cluster.framing, bytes)) {
    for (const base::HostId host : hosts) own_[host.value] += 1;
  }

  Parties parties() const {
    std::vector<bool> all(own_.size(), false);
    for (std::size_t host = 0; host < own_.size(); ++host) {
      all[host] = message_ > 0 && own_[host] > 0 && own_[host] < total_;
    }
    return {all, all, shortest_};
  }

  void accumulate(const Walk& walk) {
    below_ = own_;
    below_.resize(walk.parent.size());
    for (auto it = walk.order.rbegin(); it != walk.order.rend(); ++it) {
      if (walk.parent[*it] != kNoNode) below_[walk.parent[*it]] += below_[*it];
    }
  }
  Crossing below(std::uint32_t node) const { return crossing(below_[node]); }
  // A set of hosts that grows: clear() empties it, grow() adds a host and gives what crosses.
  void clear() { inside_ = 0; }
  Crossing grow(std::uint32_t host) { return crossing(inside_ += own_[host]); }
  double growth_cost() const { return 1; }
  double between(std::uint32_t from, std::uint32_t to) const {
    return own_[from] * own_[to] * message_;
  }

 private:
  Crossing crossing(double inside) const {
    const double bytes = inside * (total_ - inside) * message_;
    return {bytes, bytes};
  }

  const double message_, total_;
  std::vector<double> own_;  // by host: participants there
  const std::uint64_t shortest_;
  double inside_ = 0;  // of the growing set
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
    if (packing == Packing::kShared) return;
    shortest_ = payload_bytes(cluster.framing);
    for (const std::uint64_t message : sum) {
      if (message > 0) shortest_ = std::min(shortest_, shortest_packet(cluster.framing, message));
    }
  }

  Parties parties() const {
    Parties out{std::vector<bool>(hosts_, false), std::vector<bool>(hosts_, false), shortest_};
    for (std::uint32_t from = 0; from < hosts_; ++from) {
      for (std::uint32_t to = 0; to < hosts_; ++to) {
        if (framed_[at(from, to)] == 0) continue;
        out.sends[from] = out.receives[to] = true;
      }
    }
    return out;
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
  // A set of hosts that grows: clear() empties it, grow() adds a host and gives what crosses.
  void clear() {
    is_inside_.assign(hosts_, false);
    inside_ = {};
  }
  Crossing grow(std::uint32_t host) {
    for (std::uint32_t other = 0; other < hosts_; ++other) {
      const double sign = is_inside_[other] ? -1 : 1;
      inside_.out += sign * framed_[is_inside_[other] ? at(other, host) : at(host, other)];
      inside_.in += sign * framed_[is_inside_[other] ? at(host, other) : at(other, host)];
    }
    is_inside_[host] = true;
    return inside_;
  }
  double growth_cost() const { return hosts_; }
  double between(std::uint32_t from, std::uint32_t to) const { return framed_[at(from, to)]; }

 private:
  std::size_t at(std::uint32_t from, std::uint32_t to) const {
    return std::size_t{from} * hosts_ + to;
  }

  const std::uint32_t hosts_;
  std::vector<double> framed_;  // [from host][to host]
  std::uint64_t shortest_ = 1;
  std::vector<bool> is_inside_;
  Crossing inside_;
  std::vector<Crossing> below_;
};

}  // namespace alm::topology

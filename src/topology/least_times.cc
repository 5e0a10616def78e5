// Labels on directed links. With h and t the times at which the first and the last bit of a frame
// can have come to a node, w its time on the next link and l that link's latency,
//   store-and-forward (and the sending host)  h' = t + l    t' = t + w + l
//   cut-through                               h' = h + l    t' = max(t, h + w) + l
// The time at a receiver is max(h + A, t + B), with A and B built up from the receiver backwards by
// the same rules; A is minus infinity where nothing goes on before the last bit is there. The least
// of each of the four over all routes is a lower bound, also where it comes from different routes.
#include "topology/least_times.h"

#include <algorithm>
#include <array>
#include <limits>

namespace alm::topology {
namespace {

constexpr double kBitsOfMbit = 1e6;
constexpr double kBitsOfByte = 8;
constexpr double kMicrosecond = 1e-6;
constexpr double kUnreached = std::numeric_limits<double>::infinity();
constexpr std::uint32_t kNoLink = UINT32_MAX;

// The least of a node's links, and the least of all but one of them.
class Least {
 public:
  void add(double value, std::uint32_t link) {
    if (value < value_[0]) {
      value_ = {value, value_[0]};
      link_ = link;
    } else {
      value_[1] = std::min(value_[1], value);
    }
  }
  double without(std::uint32_t link) const { return value_[link == link_ ? 1 : 0]; }

 private:
  std::array<double, 2> value_{kUnreached, kUnreached};
  std::uint32_t link_ = kNoLink;
};

}  // namespace

LeastTimes::LeastTimes(const Cluster& cluster, const Adjacency& adjacency,
                       const std::vector<bool>& sends, const std::vector<bool>& receives,
                       double frame_bytes)
    : cluster_(cluster),
      frame_bits_(frame_bytes * kBitsOfByte),
      before_(2 * cluster.links.size(), {kUnreached, kUnreached}),
      after_(before_) {
  // A round for each link of the longest route, each in O(links).
  for (bool changes = true; changes;) {
    changes = false;
    for (std::uint32_t node = 0; node < adjacency.node_count(); ++node) {
      const bool is_host = node < cluster.host_count();
      changes |= settle_before(adjacency, node, is_host && sends[node]);
      changes |= settle_after(adjacency, node, is_host && receives[node]);
    }
  }
}

double LeastTimes::before(std::uint32_t link, std::uint32_t node) const {
  const Ends& here = before_[at(cluster_.links[link], link, node)];
  return is_cut_through(node) ? here.first : here.last;
}

double LeastTimes::after(std::uint32_t index, std::uint32_t node) const {
  const Link& link = cluster_.links[index];
  const Ends& there = after_[at(link, index, node)];
  return link.latency_us * kMicrosecond +
         std::max(there.last, there.first - frame_seconds(link, node));
}

double LeastTimes::frame_seconds(const Link& link, std::uint32_t node) const {
  return frame_bits_ / (rate_from(link, node) * kBitsOfMbit);
}

bool LeastTimes::is_cut_through(std::uint32_t node) const {
  return node >= cluster_.host_count() &&
         cluster_.switches[node - cluster_.host_count()].switching == Switching::kCutThrough;
}

// At the peer of `node`, of what began there.
LeastTimes::Ends LeastTimes::carried(const Link& link, std::uint32_t node,
                                     const Ends& begin) const {
  if (rate_from(link, node) <= 0) return {kUnreached, kUnreached};
  const double frame = frame_seconds(link, node), latency = link.latency_us * kMicrosecond;
  if (!is_cut_through(node)) return {begin.last + latency, begin.last + frame + latency};
  return {begin.first + latency, std::max(begin.last, begin.first + frame) + latency};
}

// At `node`, of what ends as `end` says for its peer.
LeastTimes::Ends LeastTimes::led_up(const Link& link, std::uint32_t node, const Ends& end) const {
  if (rate_from(link, node) <= 0) return {kUnreached, kUnreached};
  const double latency = link.latency_us * kMicrosecond;
  const double whole = latency + std::max(end.first, frame_seconds(link, node) + end.last);
  if (!is_cut_through(node)) return {-kUnreached, whole};
  return {whole, latency + end.last};
}

// What can leave `node` by each of its links.
bool LeastTimes::settle_before(const Adjacency& adjacency, std::uint32_t node, bool sends) {
  Least first, last;
  if (sends) {
    first.add(0, kNoLink);
    last.add(0, kNoLink);
  }
  for (const Edge& edge : adjacency[node]) {
    if (node < cluster_.host_count()) continue;  // a host passes nothing on
    const Link& link = cluster_.links[edge.link];
    const Ends come = carried(link, edge.peer, before_[at(link, edge.link, edge.peer)]);
    first.add(come.first, edge.link);
    last.add(come.last, edge.link);
  }
  bool changes = false;
  for (const Edge& edge : adjacency[node]) {
    Ends& out = before_[at(cluster_.links[edge.link], edge.link, node)];
    const Ends found{first.without(edge.link), last.without(edge.link)};
    changes |= !(out == found);
    out = found;
  }
  return changes;
}

// What becomes of that which comes to `node` by each of its links.
bool LeastTimes::settle_after(const Adjacency& adjacency, std::uint32_t node, bool receives) {
  Least first, last;
  if (receives) {
    first.add(-kUnreached, kNoLink);
    last.add(0, kNoLink);
  }
  for (const Edge& edge : adjacency[node]) {
    if (node < cluster_.host_count()) continue;
    const Link& link = cluster_.links[edge.link];
    const Ends goes = led_up(link, node, after_[at(link, edge.link, node)]);
    first.add(goes.first, edge.link);
    last.add(goes.last, edge.link);
  }
  bool changes = false;
  for (const Edge& edge : adjacency[node]) {
    Ends& out = after_[at(cluster_.links[edge.link], edge.link, edge.peer)];
    const Ends found{first.without(edge.link), last.without(edge.link)};
    changes |= !(out == found);
    out = found;
  }
  return changes;
}

}  // namespace alm::topology

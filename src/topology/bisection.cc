// The least cut that parts the hosts into halves. With every switch's side given, its hosts stand
// on the same side for free or on the other for the price of their link; what is left is choosing
// the sides: by dynamic programming over the number of hosts on side 1 in a tree, else by trying
// all.
#include <algorithm>
#include <array>
#include <functional>

#include "topology/graph.h"

namespace alm::topology {
namespace {

// Price of having `node`, one end of the link, on side 1 and the other end on side 0.
using LinkPrice = std::function<double(const Link&, std::uint32_t node)>;

// Halves of whole switches come first, however cheap host links may be.
struct Cut {
  std::uint32_t hosts_apart = 0;
  double price = 0;

  friend Cut operator+(const Cut& a, const Cut& b) {
    return {a.hosts_apart + b.hosts_apart, a.price + b.price};
  }
  friend bool operator<(const Cut& a, const Cut& b) {
    return a.hosts_apart != b.hosts_apart ? a.hosts_apart < b.hosts_apart : a.price < b.price;
  }
};

constexpr Cut kWorst{UINT32_MAX, 0};

// by_count[k]: least cut with k hosts on side 1.
using ByCount = std::vector<Cut>;

class Bisector {
 public:
  Bisector(const Cluster& cluster, LinkPrice price)
      : cluster_(cluster), adjacency_(cluster), price_(std::move(price)) {}

  double over_tree() const {
    const Walk tree = walk(cluster_, adjacency_);
    std::vector<std::array<ByCount, 2>> best(adjacency_.node_count());
    for (std::uint32_t node = cluster_.host_count(); node < adjacency_.node_count(); ++node) {
      best[node] = {own_hosts(node, 0), own_hosts(node, 1)};
    }
    for (auto it = tree.order.rbegin(); it != tree.order.rend(); ++it) {
      const std::uint32_t node = *it, parent = tree.parent[node];
      if (parent == kNoNode || cluster_.is_host(NodeId{node})) continue;
      const Link& link = cluster_.links[tree.parent_link[node]];
      const double node_first = price_(link, node), parent_first = price_(link, parent);
      best[parent][0] =
          convolve(best[parent][0], cheaper(best[node][0], best[node][1], node_first));
      best[parent][1] =
          convolve(best[parent][1], cheaper(best[node][1], best[node][0], parent_first));
      best[node] = {};
    }
    const auto& root = best[tree.order.front()];
    return std::min(at_half(root[0]), at_half(root[1])).price;
  }

  double over_all_sides() const {
    const std::uint32_t first = cluster_.host_count();
    const std::vector<std::uint32_t> to_host = host_links_by(
        [&](const Link& l, std::uint32_t host) { return price_(l, other_end(l, host)); });
    const std::vector<std::uint32_t> from_host =
        host_links_by([&](const Link& l, std::uint32_t host) { return price_(l, host); });
    Cut best = kWorst;
    for (std::uint64_t sides = 0; sides < std::uint64_t{1} << cluster_.switches.size(); ++sides) {
      const auto on_side_1 = [&](std::uint32_t node) { return (sides >> (node - first) & 1) != 0; };
      best = std::min(best, with_sides(on_side_1, to_host, from_host));
    }
    return best.price;
  }

 private:
  static std::uint32_t other_end(const Link& link, std::uint32_t node) {
    return link.from.value == node ? link.to.value : link.from.value;
  }

  // A switch's own hosts when it stands on `side`: those that stand apart pay, the cheapest first.
  ByCount own_hosts(std::uint32_t node, int side) const {
    std::vector<double> prices;
    for (const Edge& edge : adjacency_[node]) {
      if (!cluster_.is_host(NodeId{edge.peer})) continue;
      prices.push_back(price_(cluster_.links[edge.link], side == 1 ? node : edge.peer));
    }
    std::sort(prices.begin(), prices.end());
    ByCount out(prices.size() + 1);
    for (std::size_t i = 0; i < prices.size(); ++i) out[i + 1] = out[i] + Cut{1, prices[i]};
    if (side == 1) std::reverse(out.begin(), out.end());
    return out;
  }

  static ByCount cheaper(const ByCount& same_side, const ByCount& other_side, double price) {
    ByCount out(same_side.size());
    for (std::size_t k = 0; k < out.size(); ++k) {
      out[k] = std::min(same_side[k], other_side[k] + Cut{0, price});
    }
    return out;
  }

  static ByCount convolve(const ByCount& a, const ByCount& b) {
    ByCount out(a.size() + b.size() - 1, kWorst);
    for (std::size_t i = 0; i < a.size(); ++i) {
      for (std::size_t j = 0; j < b.size(); ++j) out[i + j] = std::min(out[i + j], a[i] + b[j]);
    }
    return out;
  }

  Cut at_half(const ByCount& by_count) const {
    const std::size_t hosts = cluster_.hosts.size();
    return std::min(by_count[hosts / 2], by_count[hosts - hosts / 2]);
  }

  // Links of hosts, cheapest first.
  std::vector<std::uint32_t> host_links_by(const LinkPrice& price) const {
    std::vector<std::uint32_t> out;
    for (std::uint32_t host = 0; host < cluster_.host_count(); ++host) {
      out.push_back(adjacency_[host].front().link);
    }
    const auto key = [&](std::uint32_t index) {
      const Link& link = cluster_.links[index];
      return price(link, cluster_.is_host(link.from) ? link.from.value : link.to.value);
    };
    std::sort(out.begin(), out.end(),
              [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
    return out;
  }

  template <class OnSide1>
  Cut with_sides(const OnSide1& on_side_1, const std::vector<std::uint32_t>& to_host,
                 const std::vector<std::uint32_t>& from_host) const {
    Cut cut;
    std::size_t hosts_on_1 = 0;
    for (const Link& link : cluster_.links) {
      if (cluster_.is_host(link.from) || cluster_.is_host(link.to)) {
        const std::uint32_t host = cluster_.is_host(link.from) ? link.from.value : link.to.value;
        hosts_on_1 += on_side_1(other_end(link, host)) ? 1 : 0;
      } else if (on_side_1(link.from.value) != on_side_1(link.to.value)) {
        cut.price += price_(link, on_side_1(link.from.value) ? link.from.value : link.to.value);
      }
    }
    const std::size_t low = cluster_.hosts.size() / 2, high = cluster_.hosts.size() - low;
    const bool too_many = hosts_on_1 > high;
    std::size_t apart = too_many ? hosts_on_1 - high : hosts_on_1 < low ? low - hosts_on_1 : 0;
    for (const std::uint32_t index : too_many ? to_host : from_host) {
      if (apart == 0) break;
      const Link& link = cluster_.links[index];
      const std::uint32_t host = cluster_.is_host(link.from) ? link.from.value : link.to.value;
      const std::uint32_t node = other_end(link, host);
      if (on_side_1(node) != too_many) continue;
      cut = cut + Cut{1, price_(link, too_many ? node : host)};
      --apart;
    }
    return cut;
  }

  const Cluster& cluster_;
  const Adjacency adjacency_;
  const LinkPrice price_;
};

}  // namespace

base::Result<Bisection> bisection(const Cluster& cluster) {
  if (cluster.hosts.size() < 2) return Bisection{};
  for (const Host& host : cluster.hosts) {
    if (host.links == 1) continue;
    return base::bad_input("host `" + host.name + "` has " + std::to_string(host.links) +
                           " links; bisections are those of hosts with one link each");
  }
  const bool tree = is_tree(cluster);
  if (!tree && cluster.switches.size() > kBisectionSwitchesMax) {
    return base::bad_input(
        "the bisection of cluster `" + cluster.name + "` is out of reach: it is no tree and has " +
        std::to_string(cluster.switches.size()) + " switches; expected a tree, or at most " +
        std::to_string(kBisectionSwitchesMax) + " switches");
  }
  const Bisector links(cluster, [](const Link&, std::uint32_t) { return 1.0; });
  const Bisector rates(cluster, rate_from);
  const auto least = [&](const Bisector& b) { return tree ? b.over_tree() : b.over_all_sides(); };
  return Bisection{.links = static_cast<std::uint32_t>(least(links)), .mbit_s = least(rates)};
}

}  // namespace alm::topology

#include <algorithm>
#include <unordered_set>

#include "routing/routes.h"

namespace alm::routing {

using topology::Cluster;

// Which port's packets may want which port next.
class Dependencies {
 public:
  Dependencies(const Routes& routes, const Cluster& cluster)
      : routes_(routes), cluster_(cluster), after_(routes.end_of_port_.size()) {}

  std::vector<std::uint32_t> circle() {
    if (routes_.kind_ == Routes::Kind::kWalk) {
      // The pool holds all routes of the rule one after the other; each ends at a host.
      for (std::size_t i = 1; i < routes_.pool_.size(); ++i) {
        if (!routes_.ends(routes_.pool_[i - 1])) add(routes_.pool_[i - 1], routes_.pool_[i]);
      }
      return find();
    }
    for (std::uint32_t host = 0; host < routes_.hosts_; ++host) {
      for (std::uint32_t lid = 0; lid < 1u << routes_.lmc_; ++lid) follow(host, lid);
    }
    if (routes_.kind_ == Routes::Kind::kValiant) turn_at_leaves();
    return find();
  }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  std::uint32_t switch_after(std::uint32_t port) const {
    return routes_.end_of_port_[port] - routes_.hosts_;
  }

  // Host ports are on no circle, and where a switch drops nobody waits.
  void add(std::uint32_t port, std::uint32_t next) {
    if (routes_.ends(next) || routes_.ends(reverse(port))) return;
    const topology::Switch& node = cluster_.switches[switch_after(port)];
    if (node.flow_control != topology::FlowControl::kBackPressure) return;
    if (known_.insert(std::uint64_t{port} << 32 | next).second) after_[port].push_back(next);
  }

  std::vector<std::uint32_t> ports_at(std::uint32_t node, std::uint32_t host,
                                      std::uint32_t lid) const {
    if (routes_.kind_ == Routes::Kind::kTable && routes_.choice_.empty()) {
      const auto all = routes_.choices(node, host);
      return {all.begin(), all.end()};
    }
    std::uint32_t flow = routes_.kind_ == Routes::Kind::kLid ? lid : 0;
    const std::uint32_t port = routes_.next(node, host, flow);
    if (port == kNoPort) return {};
    return {port};
  }

  // From every switch with hosts to this one.
  void follow(std::uint32_t host, std::uint32_t lid) {
    seen_.assign(routes_.switches_, false);
    std::vector<std::uint32_t> open;
    for (std::uint32_t from = 0; from < routes_.hosts_; ++from) {
      const std::uint32_t leaf = switch_after(routes_.host_port_[from]);
      if (!seen_[leaf]) open.push_back(leaf);
      seen_[leaf] = true;
    }
    for (; !open.empty();) {
      const std::uint32_t node = open.back();
      open.pop_back();
      for (const std::uint32_t port : ports_at(node, host, lid)) {
        if (routes_.ends(port)) continue;
        const std::uint32_t far = switch_after(port);
        for (const std::uint32_t next : ports_at(far, host, lid)) add(port, next);
        if (!seen_[far]) open.push_back(far);
        seen_[far] = true;
      }
    }
  }

  // Any that leads to a middle switch, and any that leads away from it.
  void turn_at_leaves() {
    std::vector<std::unordered_set<std::uint32_t>> into(routes_.switches_);
    std::vector<std::unordered_set<std::uint32_t>> out_of(routes_.switches_);
    for (std::uint32_t host = 0; host < routes_.hosts_; ++host) {
      const std::uint32_t leaf = switch_after(routes_.host_port_[host]);
      for (std::uint32_t node = 0; node < routes_.switches_; ++node) {
        if (node == leaf) continue;
        const auto ports = ports_at(node, host, 0);
        if (ports.empty()) continue;
        const std::uint32_t port = ports.front();
        out_of[node].insert(port);
        if (switch_after(port) == leaf) into[leaf].insert(port);
      }
    }
    for (std::uint32_t node = 0; node < routes_.switches_; ++node) {
      for (const std::uint32_t port : into[node]) {
        for (const std::uint32_t next : out_of[node]) add(port, next);
      }
    }
  }

  // Depth first; a port met again while it is open closes a circle.
  std::vector<std::uint32_t> find() {
    enum : std::uint8_t { kNew, kOpen, kDone };
    std::vector<std::uint8_t> state(after_.size(), kNew);
    std::vector<std::size_t> at(after_.size(), 0);
    std::vector<std::uint32_t> trail;
    for (auto& next : after_) std::sort(next.begin(), next.end());
    for (std::uint32_t start = 0; start < after_.size(); ++start) {
      if (state[start] != kNew) continue;
      trail.assign(1, start);
      state[start] = kOpen;
      while (!trail.empty()) {
        const std::uint32_t port = trail.back();
        if (at[port] == after_[port].size()) {
          state[port] = kDone;
          trail.pop_back();
          continue;
        }
        const std::uint32_t next = after_[port][at[port]++];
        if (state[next] == kOpen) {
          trail.erase(trail.begin(), std::find(trail.begin(), trail.end(), next));
          return trail;
        }
        if (state[next] != kNew) continue;
        state[next] = kOpen;
        trail.push_back(next);
      }
    }
    return {};
  }

  const Routes& routes_;
  const Cluster& cluster_;
  std::vector<std::vector<std::uint32_t>> after_;
  std::unordered_set<std::uint64_t> known_;
  std::vector<bool> seen_;
};

std::vector<std::uint32_t> Routes::circle(const Cluster& cluster) const {
  return Dependencies(*this, cluster).circle();
}

}  // namespace alm::routing

#include <fmt/core.h>

#include "topology/fabric.h"

namespace alm::topology {
namespace {

constexpr std::uint32_t kWidthMax = 64;

// The least m for which the hosts fill whole pods that 2m-port switches can join; 0: none.
std::uint32_t width_for(std::uint32_t hosts) {
  for (std::uint32_t m = 2; m <= kWidthMax; ++m) {
    if (hosts % (m * m) == 0 && hosts >= 2 * m * m && hosts / (m * m) <= 2 * m) return m;
  }
  return 0;
}

template <class Spec>
void join(Cluster& cluster, const Spec& spec, std::uint32_t from, std::uint32_t to,
          std::uint32_t queue_up) {
  cluster.links.push_back({.from = {from},
                           .to = {to},
                           .rate_up_mbit_s = spec.rate_mbit_s,
                           .rate_down_mbit_s = spec.rate_mbit_s,
                           .latency_us = spec.latency_us,
                           .queue_up_packets = queue_up,
                           .queue_down_packets = spec.queue_packets});
}

class FatTree {
 public:
  FatTree(const FatTreeSpec& spec, std::uint32_t width) : spec_(spec), m_(width) {}

  Cluster build() {
    const std::uint32_t pods = spec_.hosts / (m_ * m_);
    const char* kind_of_all = spec_.lossless ? "lossless-" : "";
    cluster_.name = fmt::format("{}fat-tree-{}", kind_of_all, spec_.hosts);
    cluster_.description =
        fmt::format("{} hosts in {} pods of {}, three levels, non-blocking{}", spec_.hosts, pods,
                    m_ * m_, spec_.lossless ? ", lossless" : "");
    for (std::uint32_t i = 0; i < spec_.hosts; ++i) {
      cluster_.hosts.push_back({.name = fmt::format("h{}", i), .address = {}, .interface = {}});
    }
    for (const char* kind : {"edge", "agg", "core"}) {
      const std::uint32_t count = kind[0] == 'c' ? m_ * m_ : pods * m_;
      for (std::uint32_t i = 0; i < count; ++i) {
        const std::string name = fmt::format("{}{}", kind, i);
        cluster_.switches.push_back(spec_.lossless ? crossbar(name) : Switch{.name = name});
      }
    }
    const std::uint32_t edge = spec_.hosts;
    const std::uint32_t aggregation = edge + pods * m_;
    const std::uint32_t core = aggregation + pods * m_;
    for (std::uint32_t i = 0; i < spec_.hosts; ++i)
      join(cluster_, spec_, i, edge + i / m_, kQueueDefaultPackets);
    for (std::uint32_t i = 0; i < pods * m_; ++i) {
      for (std::uint32_t j = 0; j < m_; ++j) {
        join(cluster_, spec_, edge + i, aggregation + i / m_ * m_ + j, spec_.queue_packets);
      }
    }
    for (std::uint32_t i = 0; i < pods * m_; ++i) {
      for (std::uint32_t j = 0; j < m_; ++j) {
        join(cluster_, spec_, aggregation + i, core + i % m_ * m_ + j, spec_.queue_packets);
      }
    }
    return std::move(cluster_);
  }

 private:
  const FatTreeSpec& spec_;
  std::uint32_t m_;
  Cluster cluster_;
};

}  // namespace

base::Result<Cluster> build_fat_tree(const FatTreeSpec& spec) {
  const std::uint32_t width = width_for(spec.hosts);
  if (width == 0) {
    std::uint32_t below = spec.hosts, above = spec.hosts;
    while (below > 8 && width_for(below) == 0) --below;
    while (above < kWidthMax * kWidthMax && width_for(above) == 0) ++above;
    return base::bad_input(
        fmt::format("a fat tree of {} hosts leaves ports empty; expected 2 to 2m pods of m x m "
                    "hosts, the nearest are {} and {}",
                    spec.hosts, below, above));
  }
  if (!(spec.rate_mbit_s > 0) || spec.queue_packets == 0 || !(spec.latency_us >= 0)) {
    return base::bad_input("a fat tree needs a rate above 0, a latency of 0 or more and queues");
  }
  return FatTree(spec, width).build();
}

Cluster build_two_level(const TwoLevelSpec& spec) {
  Cluster cluster;
  cluster.name = spec.name;
  const std::uint32_t hosts = spec.leaves * spec.hosts_per_leaf;
  cluster.description = fmt::format("{} ports, {} leaf and {} spine crossbars, lossless", hosts,
                                    spec.leaves, spec.spines);
  cluster.framing.mtu_bytes = spec.mtu_bytes;
  for (std::uint32_t i = 0; i < hosts; ++i) {
    cluster.hosts.push_back({.name = fmt::format("h{}", i), .address = {}, .interface = {}});
    join(cluster, spec, i, hosts + i / spec.hosts_per_leaf, kQueueDefaultPackets);
  }
  for (std::uint32_t leaf = 0; leaf < spec.leaves; ++leaf) {
    cluster.switches.push_back(crossbar(fmt::format("leaf{}", leaf)));
    for (std::uint32_t spine = 0; spine < spec.spines; ++spine) {
      join(cluster, spec, hosts + leaf, hosts + spec.leaves + spine, spec.queue_packets);
    }
  }
  for (std::uint32_t spine = 0; spine < spec.spines; ++spine) {
    cluster.switches.push_back(crossbar(fmt::format("spine{}", spine)));
  }
  return cluster;
}

}  // namespace alm::topology

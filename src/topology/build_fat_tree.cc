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

}  // namespace

base::Result<Cluster> build_fat_tree(std::uint32_t hosts, const Medium& medium) {
  const std::uint32_t m = width_for(hosts);
  if (m == 0) {
    std::uint32_t below = hosts, above = hosts;
    while (below > 8 && width_for(below) == 0) --below;
    while (above < kWidthMax * kWidthMax && width_for(above) == 0) ++above;
    return base::bad_input(
        fmt::format("a fat tree of {} hosts leaves ports empty; expected 2 to 2m pods of m x m "
                    "hosts, the nearest are {} and {}",
                    hosts, below, above));
  }
  const std::uint32_t pods = hosts / (m * m);
  Fabric out(
      fmt::format("fat-tree-{}", hosts),
      fmt::format("{} hosts in {} pods of {}, three levels, non-blocking", hosts, pods, m * m),
      hosts, medium);
  for (std::uint32_t i = 0; i < pods * m; ++i) out.add_switch(fmt::format("edge{}", i));
  for (std::uint32_t i = 0; i < pods * m; ++i) out.add_switch(fmt::format("agg{}", i));
  for (std::uint32_t i = 0; i < m * m; ++i) out.add_switch(fmt::format("core{}", i));
  const std::uint32_t edge = hosts, aggregation = edge + pods * m, core = aggregation + pods * m;
  for (std::uint32_t i = 0; i < hosts; ++i) out.attach(i, edge + i / m);
  for (std::uint32_t i = 0; i < pods * m; ++i) {
    for (std::uint32_t j = 0; j < m; ++j) out.trunk(edge + i, aggregation + i / m * m + j);
  }
  for (std::uint32_t i = 0; i < pods * m; ++i) {
    for (std::uint32_t j = 0; j < m; ++j) out.trunk(aggregation + i, core + i % m * m + j);
  }
  return out.take();
}

Cluster build_two_level(std::uint32_t leaves, std::uint32_t spines, std::uint32_t hosts_per_leaf) {
  constexpr std::uint32_t kMtuBytes = 2048;
  const std::uint32_t hosts = leaves * hosts_per_leaf;
  Fabric out("", fmt::format("{} ports, {} leaf and {} spine crossbars", hosts, leaves, spines),
             hosts,
             {.rate_mbit_s = 16000, .latency_us = 0.1, .queue_packets = 32, .lossless = true});
  out.cluster().name = "ib-144";
  out.cluster().framing.mtu_bytes = kMtuBytes;
  for (std::uint32_t i = 0; i < hosts; ++i) out.attach(i, hosts + i / hosts_per_leaf);
  for (std::uint32_t leaf = 0; leaf < leaves; ++leaf) {
    out.add_switch(fmt::format("leaf{}", leaf));
    for (std::uint32_t spine = 0; spine < spines; ++spine) {
      out.trunk(hosts + leaf, hosts + leaves + spine);
    }
  }
  for (std::uint32_t spine = 0; spine < spines; ++spine) {
    out.add_switch(fmt::format("spine{}", spine));
  }
  return out.take();
}

Cluster build_ib_144() { return build_two_level(12, 12, 12); }

}  // namespace alm::topology

#include <fmt/core.h>

#include "topology/fabric.h"

namespace alm::topology {

Cluster build_leaf_spine(std::uint32_t hosts_per_leaf, std::uint32_t leaves, std::uint32_t spines,
                         const Medium& medium) {
  Fabric out(
      fmt::format("leaf-spine-{}x{}x{}", hosts_per_leaf, leaves, spines),
      fmt::format("{} hosts on each of {} leaves, {} spines", hosts_per_leaf, leaves, spines),
      hosts_per_leaf * leaves, medium);
  const std::uint32_t first_leaf = hosts_per_leaf * leaves, first_spine = first_leaf + leaves;
  for (std::uint32_t leaf = 0; leaf < leaves; ++leaf) {
    const std::uint32_t node = out.add_switch(fmt::format("leaf{}", leaf));
    for (std::uint32_t i = 0; i < hosts_per_leaf; ++i) out.attach(leaf * hosts_per_leaf + i, node);
  }
  for (std::uint32_t spine = 0; spine < spines; ++spine) {
    out.add_switch(fmt::format("spine{}", spine));
  }
  for (std::uint32_t leaf = 0; leaf < leaves; ++leaf) {
    for (std::uint32_t spine = 0; spine < spines; ++spine) {
      out.trunk(first_leaf + leaf, first_spine + spine);
    }
  }
  return out.take();
}

}  // namespace alm::topology

#include <fmt/core.h>

#include "topology/fabric.h"

namespace alm::topology {

Cluster build_dragonfly(std::uint32_t hosts_per_router, std::uint32_t routers,
                        std::uint32_t global_links, const Medium& medium) {
  const std::uint32_t groups = routers * global_links + 1;
  Fabric out(fmt::format("dragonfly-{}x{}x{}", hosts_per_router, routers, global_links),
             fmt::format("{} groups of {} routers, {} hosts and {} global links each", groups,
                         routers, hosts_per_router, global_links),
             groups * routers * hosts_per_router, medium);
  const std::uint32_t first = groups * routers * hosts_per_router;
  for (std::uint32_t i = 0; i < groups * routers; ++i) {
    const std::uint32_t node = out.add_switch(fmt::format("g{}r{}", i / routers, i % routers));
    for (std::uint32_t j = 0; j < hosts_per_router; ++j) out.attach(i * hosts_per_router + j, node);
  }
  for (std::uint32_t group = 0; group < groups; ++group) {
    for (std::uint32_t a = 0; a < routers; ++a) {
      for (std::uint32_t b = a + 1; b < routers; ++b) {
        out.trunk(first + group * routers + a, first + group * routers + b);
      }
    }
  }
  // Link j of a group leads to the group j + 1 further on, where it is the link groups - 2 - j.
  for (std::uint32_t group = 0; group < groups; ++group) {
    for (std::uint32_t j = 0; group + j + 1 < groups; ++j) {
      const std::uint32_t far = groups - 2 - j;
      out.trunk(first + group * routers + j / global_links,
                first + (group + j + 1) * routers + far / global_links);
    }
  }
  return out.take();
}

}  // namespace alm::topology

#include <fmt/core.h>

#include "topology/fabric.h"

namespace alm::topology {

Cluster build_shuffle_exchange(std::uint32_t stages, const Medium& medium) {
  const std::uint32_t hosts = 1u << stages;
  const std::uint32_t width = hosts / 2;  // switches in a stage
  Fabric out(fmt::format("shuffle-exchange-{}", hosts),
             fmt::format("{} stages of {} switches, one way", stages, width), hosts, medium);
  for (std::uint32_t host = 0; host < hosts; ++host) {
    out.attach(host, out.add_switch(fmt::format("port{}", host)));
  }
  const auto port = [&](std::uint32_t host) { return hosts + host; };
  const auto at = [&](std::uint32_t stage, std::uint32_t i) {
    return 2 * hosts + stage * width + i;
  };
  for (std::uint32_t stage = 0; stage < stages; ++stage) {
    for (std::uint32_t i = 0; i < width; ++i) out.add_switch(fmt::format("s{}x{}", stage, i));
  }
  for (std::uint32_t host = 0; host < hosts; ++host) out.trunk(port(host), at(0, host / 2), true);
  for (std::uint32_t stage = 0; stage + 1 < stages; ++stage) {
    for (std::uint32_t i = 0; i < width; ++i) {
      for (const std::uint32_t bit : {0u, 1u}) {
        out.trunk(at(stage, i), at(stage + 1, (2 * i + bit) % width), true);
      }
    }
  }
  for (std::uint32_t host = 0; host < hosts; ++host) {
    out.trunk(at(stages - 1, host / 2), port(host), true);
  }
  return out.take();
}

}  // namespace alm::topology

#include <fmt/core.h>

#include <functional>
#include <numeric>

#include "topology/fabric.h"

namespace alm::topology {

Cluster build_torus(std::span<const std::uint32_t> sides, std::uint32_t hosts_per_switch,
                    const Medium& medium) {
  const std::uint32_t points = std::accumulate(sides.begin(), sides.end(), 1u, std::multiplies<>());
  std::string shape;
  for (const std::uint32_t side : sides) {
    shape += shape.empty() ? std::to_string(side) : "x" + std::to_string(side);
  }
  Fabric out("torus-" + shape,
             fmt::format("a torus of {} switches, {} hosts each", shape, hosts_per_switch),
             points * hosts_per_switch, medium);
  const std::uint32_t first = points * hosts_per_switch;
  for (std::uint32_t point = 0; point < points; ++point) {
    std::string name = "s";
    std::uint32_t block = points, rest = point;
    for (const std::uint32_t side : sides) {
      block /= side;
      name += (name.size() > 1 ? "-" : "") + std::to_string(rest / block);
      rest %= block;
    }
    const std::uint32_t node = out.add_switch(name);
    for (std::uint32_t i = 0; i < hosts_per_switch; ++i) {
      out.attach(point * hosts_per_switch + i, node);
    }
  }
  std::uint32_t block = points;
  for (const std::uint32_t side : sides) {
    const std::uint32_t whole = block;
    block /= side;
    for (std::uint32_t point = 0; point < points; ++point) {
      const std::uint32_t at = point % whole / block;
      if (side == 1 || (side == 2 && at == 1)) continue;
      const std::uint32_t next = point - at * block + (at + 1) % side * block;
      out.trunk(first + point, first + next);
    }
  }
  return out.take();
}

}  // namespace alm::topology

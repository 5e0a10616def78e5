// The resources that fluid flows share: directed links, caps on both directions of a link,
// backplanes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "topology/cluster.h"

namespace alm::sim {

class FlowResources {
 public:
  explicit FlowResources(const topology::Cluster& cluster);

  // Resources 0 .. ports() - 1 are the ports, by routing's numbers.
  std::uint32_t ports() const { return static_cast<std::uint32_t>(2 * cluster_.links.size()); }
  std::span<const double> capacity() const { return capacity_; }  // bytes per second
  std::string name(std::uint32_t id) const;

  // Appends all resources that a flow over these ports uses.
  void uses(std::span<const std::uint32_t> ports, std::vector<std::uint32_t>& out) const;
  // Bytes by resource, from the bytes by port.
  std::vector<double> loads(std::span<const double> port_bytes) const;
  // The time from first byte sent to last byte received, less the time that the slowest link needs.
  double latency_s(std::span<const std::uint32_t> ports, std::uint64_t packet_wire_bytes) const;

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  topology::NodeId entered(std::uint32_t port) const;

  const topology::Cluster& cluster_;
  std::vector<double> capacity_;
  std::vector<std::uint32_t> cap_of_link_;        // resource, or kNone
  std::vector<std::uint32_t> backplane_of_node_;  // resource, or kNone
};

}  // namespace alm::sim

#include "sim/flow_resources.h"

#include <algorithm>

#include "routing/routes.h"

namespace alm::sim {
namespace {

constexpr double kBytesPerMbit = 125'000;

}  // namespace

FlowResources::FlowResources(const topology::Cluster& cluster)
    : cluster_(cluster),
      cap_of_link_(cluster.links.size(), kNone),
      backplane_of_node_(cluster.hosts.size() + cluster.switches.size(), kNone) {
  for (const topology::Link& link : cluster.links) {
    capacity_.push_back(link.rate_up_mbit_s * kBytesPerMbit);
    capacity_.push_back(link.rate_down_mbit_s * kBytesPerMbit);
  }
  for (std::size_t i = 0; i < cluster.links.size(); ++i) {
    if (cluster.links[i].bidirectional_cap_mbit_s <= 0) continue;
    cap_of_link_[i] = static_cast<std::uint32_t>(capacity_.size());
    capacity_.push_back(cluster.links[i].bidirectional_cap_mbit_s * kBytesPerMbit);
  }
  for (std::size_t i = 0; i < cluster.switches.size(); ++i) {
    if (cluster.switches[i].backplane_mbit_s <= 0) continue;
    backplane_of_node_[cluster.hosts.size() + i] = static_cast<std::uint32_t>(capacity_.size());
    capacity_.push_back(cluster.switches[i].backplane_mbit_s * kBytesPerMbit);
  }
}

topology::NodeId FlowResources::entered(std::uint32_t port) const {
  const topology::Link& link = cluster_.links[port / 2];
  return port == routing::up_port(port / 2) ? link.to : link.from;
}

std::string FlowResources::name(std::uint32_t id) const {
  if (id < ports()) {
    const topology::Link& link = cluster_.links[id / 2];
    const topology::NodeId to = entered(id);
    return cluster_.node_name(to == link.to ? link.from : link.to) + " -> " +
           cluster_.node_name(to);
  }
  if (const auto cap = std::find(cap_of_link_.begin(), cap_of_link_.end(), id);
      cap != cap_of_link_.end()) {
    const topology::Link& link = cluster_.links[cap - cap_of_link_.begin()];
    return cluster_.node_name(link.from) + " - " + cluster_.node_name(link.to) + ", both ways";
  }
  const auto node = std::find(backplane_of_node_.begin(), backplane_of_node_.end(), id);
  const auto index = static_cast<std::uint32_t>(node - backplane_of_node_.begin());
  return cluster_.node_name({index}) + " backplane";
}

void FlowResources::uses(std::span<const std::uint32_t> ports,
                         std::vector<std::uint32_t>& out) const {
  out.clear();
  for (const std::uint32_t port : ports) {
    out.push_back(port);
    if (cap_of_link_[port / 2] != kNone) out.push_back(cap_of_link_[port / 2]);
    const std::uint32_t backplane = backplane_of_node_[entered(port).value];
    if (backplane != kNone) out.push_back(backplane);
  }
}

std::vector<double> FlowResources::loads(std::span<const double> port_bytes) const {
  std::vector<double> out(capacity_.size(), 0);
  for (std::uint32_t i = 0; i < ports(); ++i) {
    out[i] = port_bytes[i];
    if (cap_of_link_[i / 2] != kNone) out[cap_of_link_[i / 2]] += port_bytes[i];
    const std::uint32_t backplane = backplane_of_node_[entered(i).value];
    if (backplane != kNone) out[backplane] += port_bytes[i];
  }
  return out;
}

// Store-and-forward sends the packet once more on every link after the first. The last packet
// waits for the one before it on the slowest link only, which the flow's rate has accounted for.
double FlowResources::latency_s(std::span<const std::uint32_t> ports,
                                std::uint64_t packet_wire_bytes) const {
  double seconds = 0;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    seconds += cluster_.links[ports[i] / 2].latency_us * 1e-6;
    if (i == 0) continue;
    const std::uint32_t node = entered(ports[i - 1]).value;
    const auto& through = cluster_.switches[node - cluster_.hosts.size()];
    if (through.switching != topology::Switching::kStoreAndForward) continue;
    seconds += static_cast<double>(packet_wire_bytes) / capacity_[ports[i]];
  }
  return seconds;
}

}  // namespace alm::sim

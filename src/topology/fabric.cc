#include "topology/fabric.h"

#include <fmt/core.h>

namespace alm::topology {

Switch crossbar(std::string name) {
  return {.name = std::move(name),
          .architecture = Architecture::kInput,
          .switching = Switching::kCutThrough,
          .flow_control = FlowControl::kBackPressure};
}

Fabric::Fabric(std::string name, std::string description, std::uint32_t hosts, const Medium& medium)
    : medium_(medium) {
  cluster_.name = (medium.lossless ? "lossless-" : "") + std::move(name);
  cluster_.description = std::move(description) + (medium.lossless ? ", lossless" : "");
  for (std::uint32_t i = 0; i < hosts; ++i) {
    cluster_.hosts.push_back({.name = fmt::format("h{}", i), .address = {}, .interface = {}});
  }
}

std::uint32_t Fabric::add_switch(std::string name) {
  cluster_.switches.push_back(medium_.lossless ? crossbar(std::move(name))
                                               : Switch{.name = std::move(name)});
  return static_cast<std::uint32_t>(cluster_.hosts.size() + cluster_.switches.size() - 1);
}

void Fabric::attach(std::uint32_t host, std::uint32_t switch_node) {
  join(host, switch_node, kQueueDefaultPackets);
}

void Fabric::trunk(std::uint32_t from, std::uint32_t to, bool one_way) {
  join(from, to, medium_.queue_packets);
  cluster_.links.back().one_way = one_way;
}

void Fabric::join(std::uint32_t from, std::uint32_t to, std::uint32_t queue_up) {
  cluster_.links.push_back({.from = {from},
                            .to = {to},
                            .rate_up_mbit_s = medium_.rate_mbit_s,
                            .rate_down_mbit_s = medium_.rate_mbit_s,
                            .latency_us = medium_.latency_us,
                            .queue_up_packets = queue_up,
                            .queue_down_packets = medium_.queue_packets});
}

}  // namespace alm::topology

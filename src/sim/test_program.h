// For tests: hosts that send what a list says, and note when it arrives.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/simulator.h"
#include "topology/cluster.h"

namespace alm::sim {

struct Sending {
  std::uint32_t from = 0, to = 0;
  Picos at = 0;
  std::uint32_t bytes = 1000;
};

struct Arrived {
  std::uint32_t from = 0, to = 0, label = 0;  // label: index in the list
  Picos at = 0;
  friend bool operator==(const Arrived&, const Arrived&) = default;
};

class ListProgram final : public Program {
 public:
  ListProgram(std::uint32_t hosts, const std::vector<Sending>& list) : queues_(hosts), at_(hosts) {
    for (std::uint32_t i = 0; i < list.size(); ++i) queues_[list[i].from].push_back({list[i], i});
  }

  bool pull(std::uint32_t host, Picos now, std::uint32_t, Packet& packet) override {
    if (at_[host] == queues_[host].size()) return false;
    const Entry& next = queues_[host][at_[host]];
    if (next.sending.at > now) return false;
    packet.destination = next.sending.to;
    packet.bytes = next.sending.bytes;
    packet.flow = numbers_messages ? next.label : routing::flow_hash(host, next.sending.to, 0);
    packet.label = next.label;
    ++at_[host];
    return true;
  }
  void receive(std::uint32_t host, Picos now, std::uint32_t, const Packet& packet) override {
    arrived.push_back({packet.source, host, packet.label, now});
  }
  void timer(std::uint32_t, Picos) override {}
  Picos deadline(std::uint32_t host) const override {
    return at_[host] == queues_[host].size() ? kNever : queues_[host][at_[host]].sending.at;
  }
  bool done() const override { return false; }

  std::vector<Arrived> arrived;
  bool numbers_messages = false;  // each packet is a message to routes that are chosen by message

 private:
  struct Entry {
    Sending sending;
    std::uint32_t label;
  };
  std::vector<std::vector<Entry>> queues_;  // by host
  std::vector<std::size_t> at_;
};

// `hosts` on one switch; 1000 bytes take 80 us.
inline topology::Cluster star(std::uint32_t hosts, const topology::Switch& node = {},
                              std::uint32_t queue = 100) {
  topology::Cluster cluster;
  cluster.name = "star";
  for (std::uint32_t i = 0; i < hosts; ++i) {
    cluster.hosts.push_back({.name = "h" + std::to_string(i), .address = {}, .interface = {}});
    cluster.links.push_back({.from = {i},
                             .to = {hosts},
                             .rate_up_mbit_s = 100,
                             .rate_down_mbit_s = 100,
                             .queue_up_packets = 1000,
                             .queue_down_packets = queue});
  }
  cluster.switches.push_back(node);
  cluster.switches.back().name = "s";
  return cluster;
}

// A chain of switches with a host at each end: h0 - s0 - s1 - .. - h1.
inline topology::Cluster chain(std::uint32_t switches, topology::Switching switching,
                               double latency_us) {
  topology::Cluster cluster;
  cluster.name = "chain";
  for (std::uint32_t i = 0; i < 2; ++i) {
    cluster.hosts.push_back({.name = "h" + std::to_string(i), .address = {}, .interface = {}});
  }
  const auto join = [&](std::uint32_t from, std::uint32_t to) {
    cluster.links.push_back({.from = {from},
                             .to = {to},
                             .rate_up_mbit_s = 100,
                             .rate_down_mbit_s = 100,
                             .latency_us = latency_us,
                             .queue_up_packets = 100,
                             .queue_down_packets = 100});
  };
  for (std::uint32_t i = 0; i < switches; ++i) {
    cluster.switches.push_back({.name = "s" + std::to_string(i), .switching = switching});
    join(i == 0 ? 0 : 2 + i - 1, 2 + i);
  }
  join(1, 2 + switches - 1);
  return cluster;
}

}  // namespace alm::sim

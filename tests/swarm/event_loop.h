// Virtual time for nodes on a seeded network: lets each do what is due, until all have finished and
// owe each other nothing. Time is bounded, so that a stall is a failure and not a hang.
//
// A node is what has a port: a rank, or a host with several. It has a type Packet and
//   step(now, failure)       enters and leaves exchanges; fills `failure` when something is wrong
//   pull(now, to, packet)    the next packet, if there is one
//   arrive(now, packet)
//   wake(), deadline()       when it has to be looked at although nothing arrives
//   finished(), settled()    all exchanges are complete; nobody needs it any longer
//   counters(), state()      state: what it waits for, for people
//   header_of(packet), corrupt(packet, random)
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "network.h"
#include "transport/config.h"
#include "wire/header.h"

namespace alm::swarm {

struct Conditions {
  Faults faults;
  base::Nanos packet_time = 0;
  std::uint32_t port_queue = 0;
  std::uint64_t seed = 0;
  base::Nanos time_max = 0;
};

struct Outcome {
  std::string failure;       // empty: every exchange complete, every byte right
  base::Nanos finished = 0;  // last exchange complete everywhere
  base::Nanos settled = 0;
  transport::Counters total;
  std::uint64_t dropped = 0;
  std::uint64_t trace = 0;  // digest of every datagram sent: time, rank, peer, header fields
};

inline void mix(std::uint64_t* digest, std::uint64_t value) {
  *digest = (*digest ^ value) * 0x9E3779B97F4A7C15u;
  *digest ^= *digest >> 29;
}

template <class Nodes>
class EventLoop {
 public:
  using Node = typename Nodes::value_type;
  using Packet = typename Node::Packet;

  EventLoop(Nodes& nodes, const Conditions& conditions)
      : nodes_(nodes),
        conditions_(conditions),
        network_(static_cast<PeerId>(nodes.size()), conditions.faults, conditions.packet_time,
                 conditions.port_queue, conditions.seed),
        planned_(nodes.size(), base::kNever) {}

  Outcome run() {
    for (PeerId node = 0; node < nodes_.size(); ++node) {
      drive(node);
      plan(node);
    }
    while (outcome_.failure.empty() && !over()) advance();
    for (const Node& node : nodes_) outcome_.total += node.counters();
    outcome_.dropped = network_.dropped();
    return outcome_;
  }

 private:
  using Wake = std::pair<base::Nanos, PeerId>;

  bool over() {
    const auto finished = [](const Node& node) { return node.finished(); };
    const auto settled = [](const Node& node) { return node.settled(); };
    if (!std::all_of(nodes_.begin(), nodes_.end(), finished)) return false;
    if (outcome_.finished == 0) outcome_.finished = now_;
    if (!std::all_of(nodes_.begin(), nodes_.end(), settled)) return false;
    outcome_.settled = now_;
    return true;
  }

  void advance() {
    const base::Nanos wake_at = wakes_.empty() ? base::kNever : wakes_.top().first;
    const base::Nanos next = std::min(network_.next_time(), wake_at);
    if (next == base::kNever || next > conditions_.time_max) {
      outcome_.failure =
          "stalled at " + std::to_string(static_cast<double>(now_) * 1e-9) + " s, not finished:";
      for (const Node& node : nodes_) {
        if (!node.finished()) outcome_.failure += ' ' + node.state();
      }
      return;
    }
    now_ = next;
    PeerId node = 0;
    if (network_.next_time() <= wake_at) {
      const auto arrival = network_.pop();
      if (!arrival) return;
      node = arrival->to;
      nodes_[node].arrive(now_, arrival->packet);
    } else {
      node = wakes_.top().second;
      wakes_.pop();
      if (planned_[node] == now_) planned_[node] = base::kNever;
    }
    drive(node);
    plan(node);
  }

  void drive(PeerId node) {
    nodes_[node].step(now_, &outcome_.failure);
    PeerId to = 0;
    Packet packet;
    while (network_.takes(now_, node) && nodes_[node].pull(now_, &to, &packet)) {
      const wire::Header header = Node::header_of(packet);
      for (const std::uint64_t value :
           {static_cast<std::uint64_t>(now_), std::uint64_t{node}, std::uint64_t{to},
            static_cast<std::uint64_t>(header.type) | std::uint64_t{header.path} << 8,
            std::uint64_t{header.flags}, std::uint64_t{header.exchange},
            std::uint64_t{header.packet}, std::uint64_t{header.acknowledged}}) {
        mix(&outcome_.trace, value);
      }
      network_.send(now_, node, to, header.path, packet, &Node::corrupt);
    }
    nodes_[node].step(now_, &outcome_.failure);
  }

  // When a node has something to do although nothing arrives.
  base::Nanos wake(PeerId node) const {
    base::Nanos at = nodes_[node].wake();
    at = std::min(at,
                  network_.takes(now_, node) ? nodes_[node].deadline() : network_.takes_at(node));
    return std::max(at, now_ + 1);
  }
  void plan(PeerId node) {
    const base::Nanos at = wake(node);
    if (at >= base::kNever || at == planned_[node]) return;
    planned_[node] = at;
    wakes_.push({at, node});
  }

  Nodes& nodes_;
  Conditions conditions_;
  Network<Packet> network_;
  std::priority_queue<Wake, std::vector<Wake>, std::greater<>> wakes_;
  std::vector<base::Nanos> planned_;
  base::Nanos now_ = 0;
  Outcome outcome_;
};

}  // namespace alm::swarm

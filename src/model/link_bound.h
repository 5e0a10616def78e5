// The least time the links allow for messages that need not be equal (reference section 2,
// "hierarchy bound"): max over directed links of the framed bytes that must cross it / its rate.
// topology::traffic_limits takes a matrix; this takes a list of messages, in O(messages x depth).
// Also: how long a packet takes over the idle network.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/exchange_shape.h"
#include "topology/cluster.h"
#include "topology/graph.h"

namespace alm::model {

class LinkBound {
 public:
  // `hosts`: the host of each rank. The cluster must outlive this. `header_bytes`: a protocol's
  // header in each packet, beside those of UDP and the link.
  LinkBound(const topology::Cluster& cluster, std::span<const base::HostId> hosts,
            std::uint32_t header_bytes = 0);

  // Whether the links form a tree. If not, messages are judged by cuts alone.
  bool is_tree() const { return tree_; }

  // Payload of a full packet.
  std::uint32_t packet_bytes() const { return payload_; }

  // Seconds that the busiest link needs. `bytes`: of one block. Where links form no tree, those on
  // cycles count in the cuts of topology::traffic_limits alone.
  double seconds(std::span<const Message> messages, std::uint64_t bytes) const;
  // The same for links between switches alone; 0 where links form no tree.
  double uplink_seconds(std::span<const Message> messages, std::uint64_t bytes) const;
  double seconds(const Round& round, std::uint64_t bytes) const {
    return seconds(round.messages, bytes);
  }
  // The same for a block from every rank to every other.
  double complete_seconds(std::uint64_t bytes) const;

  // From the start of a packet of `bytes` at one rank to its end at another: L for a full one.
  // Store-and-forward switches wait for its tail, cut-through ones do not.
  double latency_seconds(std::uint32_t from, std::uint32_t to, double bytes) const;
  // The sum of the links' latencies on that route, which no rate changes.
  double distance_seconds(std::uint32_t from, std::uint32_t to) const;
  // The time of such a packet on its sender's host link.
  double sending_seconds(std::uint32_t from, double bytes) const;

 private:
  double framed(double bytes) const;
  // Looks at links whose lower end is node `first` or later: hosts come before switches.
  double tree_seconds(std::span<const Message> messages, std::uint64_t bytes,
                      std::uint32_t first) const;

  const topology::Cluster& cluster_;
  std::vector<base::HostId> hosts_;
  topology::Adjacency adjacency_;
  topology::Walk walk_;
  std::vector<std::uint32_t> depth_;
  std::uint32_t payload_ = 0, overhead_ = 0;  // of a packet
  bool tree_ = true;
};

}  // namespace alm::model

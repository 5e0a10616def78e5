// The least time the links allow for messages that need not be equal (reference section 2,
// "hierarchy bound"): max over directed links of the framed bytes that must cross it / its rate.
// What topology::traffic_limits does for a matrix, for a list of messages: O(messages x depth). And
// how long a packet takes over the idle network.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/course.h"
#include "topology/cluster.h"
#include "topology/graph.h"

namespace alm::model {

class LinkBound {
 public:
  // `hosts`: of each rank. The cluster must outlive this. `header_bytes`: of a protocol, in each
  // packet beside UDP's and those of the link.
  LinkBound(const topology::Cluster& cluster, std::span<const base::HostId> hosts,
            std::uint32_t header_bytes = 0);

  // Whether one way leads from each node to each other: else rounds are known by cuts alone.
  bool is_tree() const { return tree_; }

  // Payload of a full packet.
  std::uint32_t packet_bytes() const { return payload_; }

  // Seconds. `bytes`: of one block. Links that lie on cycles do not count, only the cut around a
  // switch and its hosts, all its trunks together.
  double seconds(std::span<const Message> messages, std::uint64_t bytes) const;
  // Of links between switches alone; 0 where they form no tree.
  double uplink_seconds(std::span<const Message> messages, std::uint64_t bytes) const;
  double seconds(const Round& round, std::uint64_t bytes) const {
    return seconds(round.messages, bytes);
  }
  // Every rank to every other, a block each.
  double complete_seconds(std::uint64_t bytes) const;

  // From the start of a packet of `bytes` at one rank to its end at another: L for a full one.
  // Store-and-forward switches wait for its tail, cut-through ones do not.
  double latency_seconds(std::uint32_t from, std::uint32_t to, double bytes) const;
  // What of it no rate changes: the latencies of the links.
  double distance_seconds(std::uint32_t from, std::uint32_t to) const;
  // Its time on the link of the rank that sends it.
  double sending_seconds(std::uint32_t from, double bytes) const;

 private:
  double framed(double bytes) const;
  // Of links whose lower end is node `first` or later: hosts come before switches.
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

// The least time the links allow for messages that need not be equal (reference section 2,
// "hierarchy bound"): max over directed links of the framed bytes that must cross it / its rate.
// What topology::traffic_limits does for a matrix, for a list of messages: O(messages x depth).
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
  // `hosts`: of each rank. The cluster must outlive this.
  LinkBound(const topology::Cluster& cluster, std::span<const base::HostId> hosts);

  // Seconds. `bytes`: of one block. Links that lie on cycles do not count, only the cut around a
  // switch and its hosts, all its trunks together.
  double seconds(std::span<const Message> messages, std::uint64_t bytes) const;
  double seconds(const Round& round, std::uint64_t bytes) const {
    return seconds(round.messages, bytes);
  }
  // Every rank to every other, a block each.
  double complete_seconds(std::uint64_t bytes) const;

 private:
  const topology::Cluster& cluster_;
  std::vector<base::HostId> hosts_;
  topology::Adjacency adjacency_;
  topology::Walk walk_;
  std::vector<std::uint32_t> depth_;
  bool tree_ = true;
};

}  // namespace alm::model

// For builders of generated networks: hosts with a link each, switches, and trunks, all alike.
#pragma once

#include <cstdint>
#include <string>

#include "topology/cluster.h"
#include "topology/generate.h"

namespace alm::topology {

// A crossbar of a lossless network: input buffers, cut-through, back-pressure.
Switch crossbar(std::string name);

class Fabric {
 public:
  // Hosts are h0.. ; they come before switches among the nodes.
  Fabric(std::string name, std::string description, std::uint32_t hosts, const Medium& medium);

  // Returns the switch's node, for trunk() and attach().
  std::uint32_t add_switch(std::string name);
  void attach(std::uint32_t host, std::uint32_t switch_node);
  void trunk(std::uint32_t from, std::uint32_t to, bool one_way = false);
  Cluster take() { return std::move(cluster_); }
  Cluster& cluster() { return cluster_; }

 private:
  void join(std::uint32_t from, std::uint32_t to, std::uint32_t queue_up);

  const Medium medium_;
  Cluster cluster_;
};

}  // namespace alm::topology

// Inside the module: whether the sites of a cluster file make sense.
#pragma once

#include <optional>
#include <string>

#include "topology/cluster.h"

namespace alm::topology {

struct SiteTrouble {
  NodeId node;  // the one at fault
  std::string what, expected;
};
// What is wrong, if anything: where one switch names a site, every host must be at a site and every
// site must have hosts. Precondition: all hosts have their links.
std::optional<SiteTrouble> trouble_with_sites(const Cluster& cluster);

}  // namespace alm::topology

// Inside the module: whether the sites of a cluster file make sense.
#pragma once

#include <optional>
#include <string>

#include "topology/cluster.h"

namespace alm::topology {

struct SiteTrouble {
  NodeId node;  // it is said of
  std::string what, expected;
};
// Where one switch names a site, every host is at one, and every site has hosts. Precondition: all
// hosts have their links.
std::optional<SiteTrouble> trouble_with_sites(const Cluster& cluster);

}  // namespace alm::topology

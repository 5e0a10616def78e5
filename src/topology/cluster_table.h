// Reads a cluster description that stands below a key of another TOML file.
#pragma once

#include <string_view>

#include "base/result.h"
#include "base/toml.h"
#include "topology/cluster.h"

namespace alm::topology {

// `root` holds what a cluster file holds, `format` included. Errors as from parse_cluster.
base::Result<Cluster> read_cluster(const toml::table& root, std::string_view source_name);

}  // namespace alm::topology

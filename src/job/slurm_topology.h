// Slurm's files of switches, topology.conf and topology.yaml, as far as one host needs them: which
// switches are above it. The whole network is read by `allemande topology slurm:FILE`.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace alm::job {

constexpr std::size_t kSlurmTopologyBytesMax = 1 << 20;

// The switches above the node, the highest first, as SLURM_TOPOLOGY_ADDR has them: "core.rack3".
// Of several above one, the first in the file. Errors name `file` and the line. Blocks are no
// switches.
base::Result<std::string> switches_in_conf(std::string_view text, std::string_view file,
                                           std::string_view node);
// Of several topologies the default, if it is a tree, else the only tree.
base::Result<std::string> switches_in_yaml(std::string_view text, std::string_view file,
                                           std::string_view node);

}  // namespace alm::job

// What Slurm tells every process of a job for nothing: the switches above its host.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/options.h"

namespace alm::job {

struct HostSwitches {
  std::string names;    // above this host: "core.rack3"; empty: not known
  std::string by;       // what they are known by: a variable, or a file
  std::string trouble;  // why a file that is there was not used, in one line
};

// By SLURM_TOPOLOGY_ADDR ("core.rack3.n17") and SLURM_TOPOLOGY_ADDR_PATTERN ("switch.switch.node"),
// which name no switches where Slurm does not use them, and another host where a launcher has
// handed them on. Then by topology.yaml or topology.conf, in a job of Slurm.
HostSwitches slurm_switches(const base::Environment& environment, std::string_view host);

// Where such files may lie, the first that has one counts: beside the file that SLURM_CONF names,
// and where slurmd has them. None outside jobs of Slurm.
std::vector<std::string> slurm_folders(const base::Environment& environment);
// By the file of this folder, topology.yaml if there are both; `by` is empty where there is none.
HostSwitches switches_of_folder(const std::string& folder, std::string_view host);

// A number for the switches' names, the same on all hosts below the same ones; 0: not known.
std::uint32_t leaf_number(std::string_view switches);

}  // namespace alm::job

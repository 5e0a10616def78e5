#include "job/slurm_leaf.h"

#define XXH_INLINE_ALL
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>

#include "base/text_file.h"
#include "job/slurm_topology.h"

namespace alm::job {
namespace {

std::string_view value_of(const base::Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::string_view() : found->second;
}

// Names of nodes have no dots in Slurm; `host` may be a full name.
std::string_view node_of(std::string_view host) { return host.substr(0, host.find('.')); }

std::string switches_of_variables(const base::Environment& environment, std::string_view host) {
  constexpr std::string_view kSwitches = "switch.", kNode = "node";
  std::string_view pattern = value_of(environment, "SLURM_TOPOLOGY_ADDR_PATTERN");
  while (pattern.starts_with(kSwitches)) pattern.remove_prefix(kSwitches.size());
  const std::string_view address = value_of(environment, "SLURM_TOPOLOGY_ADDR");
  const std::size_t dot = address.rfind('.');
  if (pattern != kNode || dot == std::string_view::npos) return {};
  if (address.substr(dot + 1) != node_of(host)) return {};
  return std::string(address.substr(0, dot));
}

}  // namespace

std::vector<std::string> slurm_folders(const base::Environment& environment) {
  if (value_of(environment, "SLURM_JOB_ID").empty()) return {};
  std::vector<std::string> folders;
  const std::string_view conf = value_of(environment, "SLURM_CONF");
  if (const auto slash = conf.rfind('/'); slash != std::string_view::npos && slash > 0) {
    folders.emplace_back(conf.substr(0, slash));
  }
  for (const char* usual : {"/etc/slurm", "/run/slurm/conf", "/var/spool/slurmd/conf-cache"}) {
    folders.emplace_back(usual);
  }
  return folders;
}

HostSwitches switches_of_folder(const std::string& folder, std::string_view host) {
  HostSwitches found;
  for (const bool yaml : {true, false}) {
    const std::string file = folder + (yaml ? "/topology.yaml" : "/topology.conf");
    if (::access(file.c_str(), F_OK) != 0) continue;
    found.by = file;
    const auto text = base::read_text(file, kSlurmTopologyBytesMax, "Slurm's file of switches");
    const auto names = !text  ? base::Result<std::string>(text.error())
                       : yaml ? switches_in_yaml(text.value(), file, node_of(host))
                              : switches_in_conf(text.value(), file, node_of(host));
    if (names) {
      found.names = names.value();
    } else {
      found.trouble = names.error().message;
    }
    break;  // Slurm does not look at topology.conf then either
  }
  return found;
}

HostSwitches slurm_switches(const base::Environment& environment, std::string_view host) {
  HostSwitches found{switches_of_variables(environment, host), "SLURM_TOPOLOGY_ADDR", {}};
  if (!found.names.empty()) return found;
  for (const std::string& folder : slurm_folders(environment)) {
    found = switches_of_folder(folder, host);
    if (!found.by.empty()) return found;
  }
  return {};
}

std::uint32_t leaf_number(std::string_view switches) {
  if (switches.empty()) return 0;
  // Slurm's variable lists all switches of a level, its file tells one: the lowest is the same.
  switches.remove_prefix(switches.rfind('.') + 1);  // npos + 1 is 0
  return std::max(1u, static_cast<std::uint32_t>(XXH3_64bits(switches.data(), switches.size())));
}

}  // namespace alm::job

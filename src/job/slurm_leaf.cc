#include "job/slurm_leaf.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>

namespace alm::job {
namespace {

std::string_view value_of(const base::Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::string_view() : found->second;
}

}  // namespace

// Names of nodes have no dots in Slurm; `host` may be a full name.
std::string slurm_switches(const base::Environment& environment, std::string_view host) {
  constexpr std::string_view kSwitches = "switch.", kNode = "node";
  std::string_view pattern = value_of(environment, "SLURM_TOPOLOGY_ADDR_PATTERN");
  while (pattern.starts_with(kSwitches)) pattern.remove_prefix(kSwitches.size());
  const std::string_view address = value_of(environment, "SLURM_TOPOLOGY_ADDR");
  const std::size_t dot = address.rfind('.');
  if (pattern != kNode || dot == std::string_view::npos) return {};
  if (address.substr(dot + 1) != host.substr(0, host.find('.'))) return {};
  return std::string(address.substr(0, dot));
}

std::uint32_t leaf_number(std::string_view switches) {
  if (switches.empty()) return 0;
  return std::max(1u, static_cast<std::uint32_t>(XXH3_64bits(switches.data(), switches.size())));
}

}  // namespace alm::job

// At which site each host is: by the option `sites`, by the option `site` of every host, or by the
// cluster file, in this order. Pure: every rank computes the same. If none of them says it, round
// trips may (meeting/site_latency.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "plan/placement.h"
#include "topology/cluster.h"

namespace alm::job {

struct SitesSaid {
  // The option `sites`: ranks of each site, "30,30", or its hosts, "rennes=h[0-29]/nancy=h[30-59]".
  std::string_view sites = {};
  std::span<const std::string> names = {};  // [rank] the option `site`; empty: not set on it
  const topology::Cluster* cluster = nullptr;
  std::span<const base::HostId> hosts = {};  // [host] in the cluster file; empty without one
};

struct HostSites {
  std::vector<std::uint32_t> of;   // [host], numbered in the order of their first hosts
  std::vector<std::string> names;  // [site]

  // Fails if there is only one site: "the algorithm is for several sites, and all hosts are at
  // `rennes`".
  base::Status several() const;
};

// Whether the option `sites` names the hosts of each site, rather than counting their ranks.
bool names_hosts(std::string_view sites);

// Errors in the option `sites` that do not depend on the job (kBadInput): it is no list, or names a
// host twice.
base::Status check_sites(std::string_view sites);

// Whether any of the sources names sites, right or wrong.
bool says_sites(const SitesSaid& said);

// Errors (kBadInput) name the rank, host or site at fault: counts that do not add up, a host at two
// sites, a host without a site, a site that the cluster file does not have. Sites without a host in
// this communicator are left out.
base::Result<HostSites> sites_of_hosts(const plan::Placement& placement,
                                       std::span<const std::string> host_names,
                                       const SitesSaid& said);

}  // namespace alm::job

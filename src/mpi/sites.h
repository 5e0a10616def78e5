// At which site each host is, by what is said: by the option `sites`, by the option `site` of every
// host, or by the cluster file, in this order. Pure: every rank comes to the same. Where nothing is
// said, round trips may tell (site_latency.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "plan/placement.h"
#include "topology/cluster.h"

namespace alm::mpi {

struct SitesSaid {
  // The option `sites`: ranks of each site, "30,30", or its hosts, "rennes=h[0-29]/nancy=h[30-59]".
  std::string_view sites = {};
  std::span<const std::string> names = {};  // [rank] the option `site`; empty: not set there
  const topology::Cluster* cluster = nullptr;
  std::span<const base::HostId> hosts = {};  // [host] in the cluster file; empty without one
};

struct HostSites {
  std::vector<std::uint32_t> of;   // [host], numbered in the order of their first hosts
  std::vector<std::string> names;  // [site]

  // "the algorithm is for several sites, and all hosts are at `rennes`" where there is one.
  base::Status several() const;
};

// Whether the option `sites` names the hosts of each site, and does not count their ranks.
bool names_hosts(std::string_view sites);

// What is wrong with the option `sites` in any job (kBadInput): it is no list, or a host is named
// twice.
base::Status check_sites(std::string_view sites);

// Whether anything is said, right or wrong.
bool says_sites(const SitesSaid& said);

// Errors (kBadInput) name the rank, the host or the site that is in the way: counts that do not add
// up, a host at two sites, a host of which nothing is said, a site that the cluster file does not
// know. Sites of which no host is in this communicator are left out.
base::Result<HostSites> sites_of_hosts(const plan::Placement& placement,
                                       std::span<const std::string> host_names,
                                       const SitesSaid& said);

}  // namespace alm::mpi

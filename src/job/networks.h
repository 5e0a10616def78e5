// The networks by which the hosts of a job may reach each other, the fastest first. Pure: every
// rank finds the same ones in the same order, with its own address in each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "job/local_addresses.h"
#include "topology/cluster.h"

namespace alm::job {

constexpr std::size_t kNetworksMax = 4;

// The subnets in which every host has an address, as the addresses of host number `self`. `hosts`:
// the addresses of each host once, in the same order on every rank. Every host lists its fastest
// first; where they differ, the place in the list where a subnet stands last counts. An address
// that another host has as well (a container bridge, the same on every host) is skipped, and so are
// all of IPv6 where there is one of IPv4.
std::vector<InterfaceAddress> common_subnets(std::span<const std::vector<InterfaceAddress>> hosts,
                                             std::size_t self);

// The numbers of the links that a job of these hosts may use if it uses one link alone. Every host
// has this link, with an address or an interface. The slowest of them gives its rate; in the order
// of the file among equals. None: the file names neither addresses nor interfaces.
std::vector<std::size_t> ranked_links(const topology::Cluster& cluster,
                                      std::span<const base::HostId> hosts);

// Whether the file names an address or an interface at this link of some of the hosts, not of all.
bool names_some(const topology::Cluster& cluster, std::span<const base::HostId> hosts,
                std::size_t link);

}  // namespace alm::job

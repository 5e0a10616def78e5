#include "job/networks.h"

#include <sys/socket.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "job/host_links.h"

namespace alm::job {
namespace {

// In Mbit/s, link by link.
std::map<std::uint32_t, std::vector<double>> rates_of(const topology::Cluster& cluster,
                                                      std::span<const base::HostId> hosts) {
  std::map<std::uint32_t, std::vector<double>> rates;
  for (const base::HostId host : hosts) rates[host.value];
  for (const topology::Link& link : cluster.links) {
    for (const topology::NodeId end : {link.from, link.to}) {
      const auto found = rates.find(end.value);
      if (found == rates.end()) continue;
      found->second.push_back(std::min(link.rate_up_mbit_s, link.rate_down_mbit_s));
    }
  }
  return rates;
}

bool is_named(const topology::Host::Nic& nic) {
  return !nic.address.empty() || !nic.interface.empty();
}

// Whether a host has the address that another one has chosen, as all have that of a bridge for
// containers.
bool shares_an_address(std::span<const std::vector<InterfaceAddress>> hosts,
                       std::span<const InterfaceAddress> chosen) {
  for (std::size_t host = 0; host < hosts.size(); ++host) {
    for (std::size_t other = 0; other < chosen.size(); ++other) {
      if (other == host) continue;
      if (std::find(hosts[host].begin(), hosts[host].end(), chosen[other]) != hosts[host].end()) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace

std::vector<InterfaceAddress> common_subnets(std::span<const std::vector<InterfaceAddress>> hosts,
                                             std::size_t self) {
  struct Ranked {
    std::size_t last = 0, sum = 0;              // places in the lists of the hosts
    const InterfaceAddress* address = nullptr;  // of the first host
    InterfaceAddress own{};
  };
  // Begins with the first host on every rank: all find the same, whatever else a host has.
  const auto& first = hosts.front();
  std::vector<Ranked> ranked;
  for (auto one = first.begin(); one != first.end(); ++one) {
    const auto of_subnet = [&](const InterfaceAddress& other) { return same_subnet(other, *one); };
    if (std::find_if(first.begin(), one, of_subnet) != one) continue;  // one is enough
    Ranked subnet{.address = &*one};
    std::vector<InterfaceAddress> chosen;
    for (const auto& host : hosts) {
      const auto found = std::find_if(host.begin(), host.end(), of_subnet);
      if (found == host.end()) break;
      const auto place = static_cast<std::size_t>(found - host.begin());
      subnet.last = std::max(subnet.last, place);
      subnet.sum += place;
      chosen.push_back(*found);
    }
    if (chosen.size() < hosts.size() || shares_an_address(hosts, chosen)) continue;
    subnet.own = chosen[self];
    ranked.push_back(subnet);
  }
  std::sort(ranked.begin(), ranked.end(), [&](const Ranked& a, const Ranked& b) {
    return std::tuple(a.last, a.sum, a.address->family, subnet_of(*a.address).bytes) <
           std::tuple(b.last, b.sum, b.address->family, subnet_of(*b.address).bytes);
  });
  // An interface has addresses of both families as a rule. Other hosts do not tell which belong
  // together, and to ask twice over one cable is no use.
  const auto is_ip4 = [](const Ranked& one) { return one.address->family == AF_INET; };
  if (std::any_of(ranked.begin(), ranked.end(), is_ip4)) {
    ranked.erase(std::remove_if(ranked.begin(), ranked.end(), std::not_fn(is_ip4)), ranked.end());
  }
  if (ranked.size() > kNetworksMax) ranked.resize(kNetworksMax);
  std::vector<InterfaceAddress> out;
  for (const Ranked& one : ranked) out.push_back(one.own);
  return out;
}

bool names_some(const topology::Cluster& cluster, std::span<const base::HostId> hosts,
                std::size_t link) {
  const auto named = std::count_if(hosts.begin(), hosts.end(), [&](const base::HostId host) {
    return is_named(nic_of(cluster.hosts[host.value], link));
  });
  return named > 0 && static_cast<std::size_t>(named) < hosts.size();
}

std::vector<std::size_t> ranked_links(const topology::Cluster& cluster,
                                      std::span<const base::HostId> hosts) {
  const auto rates = rates_of(cluster, hosts);
  std::vector<std::pair<double, std::size_t>> usable;  // by falling rates
  for (std::size_t link = 0; link < topology::kHostLinksMax; ++link) {
    double slowest = std::numeric_limits<double>::infinity();
    for (const auto& [host, of_host] : rates) {
      const bool has_it = link < of_host.size() && is_named(nic_of(cluster.hosts[host], link));
      slowest = has_it ? std::min(slowest, of_host[link]) : 0;
      if (!has_it) break;
    }
    if (slowest > 0 && !rates.empty()) usable.emplace_back(-slowest, link);
  }
  std::sort(usable.begin(), usable.end());
  if (usable.size() > kNetworksMax) usable.resize(kNetworksMax);
  std::vector<std::size_t> out;
  std::transform(usable.begin(), usable.end(), std::back_inserter(out),
                 [](const auto& one) { return one.second; });
  return out;
}

}  // namespace alm::job

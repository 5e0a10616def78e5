// Tables with 2^lmc numbers per host, as subnet managers of InfiniBand fill them: number by number,
// each switch takes the port that the fewest numbers use so far.
#include <fmt/core.h>

#include <algorithm>

#include "routing/routes.h"

namespace alm::routing {

base::Status Routes::fill_lids(const topology::Cluster& cluster, const Settings& settings) {
  if (settings.lmc > kLmcMax) {
    return base::bad_input(
        fmt::format("an LMC of {} has no place in a LID; expected 0 to {}", settings.lmc, kLmcMax));
  }
  lmc_ = settings.lmc;
  const std::size_t lids = std::size_t{hosts_} << lmc_;
  if (!settings.lid_ports.empty()) {
    if (settings.lid_ports.size() != lids * switches_) {
      return base::bad_input(
          fmt::format("LID tables of {} entries; expected {}: {} switches, {} hosts, LMC {}",
                      settings.lid_ports.size(), lids * switches_, switches_, hosts_, lmc_));
    }
    lid_ports_ = settings.lid_ports;
    return check_lids(cluster);
  }
  lid_ports_.assign(lids * switches_, kNoPort);
  Candidates candidates(cluster, settings.dead);
  Candidates::Ports ports;
  std::vector<std::uint32_t> used(end_of_port_.size(), 0);
  for (std::uint32_t host = 0; host < hosts_; ++host) {
    if (settings.lid_engine == LidEngine::kUpDown) {
      candidates.up_down(host, ports);
    } else {
      candidates.shortest(host, ports);
    }
    for (std::uint32_t i = 0; i < switches_; ++i) {
      if (ports[i].empty()) continue;
      for (std::uint32_t offset = 0; offset < 1u << lmc_; ++offset) {
        const std::uint32_t port =
            *std::min_element(ports[i].begin(), ports[i].end(),
                              [&](std::uint32_t a, std::uint32_t b) { return used[a] < used[b]; });
        ++used[port];
        lid_ports_[i * lids + ((std::size_t{host} << lmc_) | offset)] = port;
      }
    }
  }
  return check_lids(cluster);
}

// Tables from outside may say anything: every number must lead from every leaf to its host.
base::Status Routes::check_lids(const topology::Cluster& cluster) const {
  const std::size_t lids = std::size_t{hosts_} << lmc_;
  for (std::uint32_t i = 0; i < switches_; ++i) {
    for (std::size_t lid = 0; lid < lids; ++lid) {
      const std::uint32_t port = lid_ports_[i * lids + lid];
      if (port == kNoPort) continue;
      const bool own = port < end_of_port_.size() && end_of_port_[reverse(port)] == hosts_ + i;
      const bool against = own && port % 2 == 1 && cluster.links[port / 2].one_way;
      if (own && !against) continue;
      return base::bad_input(fmt::format("LID tables: switch `{}` has no port {} for host `{}`",
                                         cluster.switches[i].name, port,
                                         cluster.hosts[lid >> lmc_].name));
    }
  }
  for (std::uint32_t from = 0; from < hosts_; ++from) {
    for (std::size_t lid = 0; lid < lids; ++lid) {
      const auto to = static_cast<std::uint32_t>(lid >> lmc_);
      std::uint32_t node = end_of_port_[host_port_[from]];
      bool ends = false;
      for (std::uint32_t hops = 0; node >= hosts_ && hops <= switches_ && !ends; ++hops) {
        const std::uint32_t port = lid_ports_[(node - hosts_) * lids + lid];
        ends = port == kNoPort;
        if (!ends) node = end_of_port_[port];
      }
      if (node == to) continue;
      return base::bad_input(fmt::format(
          "LID tables: number {} of host `{}` leads from `{}` {}; expected a way to the host",
          lid & ((1u << lmc_) - 1), cluster.hosts[to].name, cluster.hosts[from].name,
          node < hosts_ || ends ? "to `" + cluster.node_name({node}) + "`" : "around in a circle"));
    }
  }
  return {};
}

}  // namespace alm::routing

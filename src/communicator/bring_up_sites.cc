// At which site each host is: what is said, or round trips.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/hostlist.h"
#include "communicator/bring_up.h"
#include "job/sites.h"
#include "meeting/gathered_round_trips.h"
#include "meeting/site_latency.h"
#include "topology/cluster.h"

namespace alm::communicator {
namespace {

constexpr base::Nanos kHostPatience = 300 * base::kMillisecond;  // once round the world

std::string text_of(const meeting::SitesByLatency& found, std::span<const std::string> hosts) {
  std::vector<std::vector<std::string>> at(found.sites.names.size());
  for (std::size_t host = 0; host < hosts.size(); ++host) {
    at[found.sites.of[host]].push_back(hosts[host]);
  }
  std::vector<std::string> lists;
  for (auto& names : at) {
    std::sort(names.begin(), names.end());
    lists.push_back(base::compress_hostlist(names));
  }
  return fmt::format(
      "sites by round trips: {} ({:.3g} ms at most within a site, {:.3g} ms at least between two)",
      fmt::join(lists, " / "), static_cast<double>(found.near) / base::kMillisecond,
      static_cast<double>(found.far) / base::kMillisecond);
}

}  // namespace

// Collective. What is said of sites may differ from rank to rank.
base::Status BringUp::find_sites() {
  meeting::PeerRecord mine;
  meeting::set_site(mine, job_.options.site);
  if (const auto gathered = gather_part<meeting::PeerSite>(mine); !gathered) return gathered;
  std::vector<std::string> names;
  for (const meeting::PeerRecord& record : records_) names.emplace_back(record.site.data());
  const job::SitesSaid said{job_.options.sites, names, job_.cluster_or_null(), members_.hosts};
  auto found = job::sites_of_hosts(members_.placement, members_.host_names, said);
  if (!job::says_sites(said) && job_.options.transport != "mpi") {
    auto measured = measure_sites();
    if (!measured) {
      return base::bad_input(found.error().message + "; " + measured.error().message);
    }
    found = std::move(measured);
  }
  if (!found) return found.error();
  if (const auto several = found.value().several(); !several) return several;
  take_sites(std::move(found).value());
  return {};
}

// Without names of hosts, which a job without sites would exchange in vain. Where nothing says what
// the sites are, or there is one, there are other algorithms to choose from.
void BringUp::take_known_sites() {
  const std::string_view option = job_.options.sites;
  auto found = job::sites_of_hosts(members_.placement, members_.host_names,
                                   {option, {}, job_.cluster_or_null(), members_.hosts});
  if (found) {
    if (found.value().several()) take_sites(std::move(found).value());
    return;
  }
  // Counts are for communicators of so many ranks.
  const bool meant = job::names_hosts(option) || members_.ranks == job_.records.size();
  if (members_.self == 0 && !option.empty() && meant) {
    job_.warn_once(found.error().message + "; sites are not looked at");
  }
}

// Collective: all ranks come to the same.
base::Result<job::HostSites> BringUp::measure_sites() {
  const std::uint32_t hosts = members_.placement.hosts();
  if (hosts > meeting::kMeasuredHostsMax) {
    return base::bad_input(fmt::format("round trips are measured between {} hosts at most, not {}",
                                       meeting::kMeasuredHostsMax, hosts));
  }
  meeting::PeerRecord mine;
  meeting::RoundTripSurvey survey{.ranks = members_.ranks, .self = members_.self};
  if (members_.leads()) {
    if (const auto driver = job_.driver()) {
      meeting::set_addresses(mine, driver.value()->endpoint(), driver.value()->endpoint().paths(),
                             job_.links());
      survey.local = driver.value()->endpoint().local(0);
    }
  }
  std::vector<meeting::PeerSockets> sockets(members_.ranks);
  if (auto gathered = collectives_.gather(static_cast<const meeting::PeerSockets&>(mine), sockets);
      !gathered) {
    return gathered.error();
  }
  std::vector<std::string> names;
  for (std::uint32_t host = 0; host < hosts; ++host) {
    survey.leaders.push_back(members_.placement.leader(host));
    names.push_back(members_.host_names[survey.leaders.back()]);
    const auto address = meeting::first_address(sockets[survey.leaders.back()]);
    if (!address) {
      return base::bad_input(fmt::format("{} has no socket to measure with", names.back()));
    }
    survey.addresses.push_back(*address);
  }
  survey.manner.patience = base::slowed(kHostPatience, job_.options.time_scale);
  const auto all_others = [hosts](std::uint32_t host) {
    std::vector<std::uint32_t> others(hosts);
    std::iota(others.begin(), others.end(), 0);
    others.erase(others.begin() + host);
    return others;
  };
  const auto measured =
      meeting::gather_round_trips<meeting::kMeasuredHostsMax>(collectives_, survey, all_others);
  if (!measured) return measured.error();
  auto found = meeting::sites_by_latency(measured.value(), names);
  if (!found) return found.error();
  if (members_.self == 0) job_.log.info(text_of(found.value(), names));
  members_.far_round_trip = found.value().farthest;
  return std::move(found).value().sites;
}

void BringUp::take_sites(job::HostSites found) {
  members_.sites = std::move(found.of);
  members_.site_names = std::move(found.names);
}

}  // namespace alm::communicator

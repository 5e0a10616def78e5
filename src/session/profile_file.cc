#include "session/profile_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <vector>

#include "job/host_links.h"
#include "plan/tune.h"

namespace alm::session {
namespace {

// Rates measured and rates written down may differ by so much, as a part.
constexpr double kRateTolerance = 0.1;
constexpr std::uint64_t kComparedBytes = 1u << 20;  // full packets

bool differ(double a, double b) { return std::abs(a - b) > kRateTolerance * std::max(a, b); }

// "Open MPI v5.0.8" and "Open MPI 5.0.8" are the same, and "MPICH Version: 5.0.2" and
// "MPICH 5.0.2".
std::string library_and_version(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool digit_follows =
        i + 1 < text.size() && std::isdigit(static_cast<unsigned char>(text[i + 1])) != 0;
    if (text[i] == 'v' && digit_follows) continue;
    const bool blank = std::isspace(static_cast<unsigned char>(text[i])) != 0;
    if (blank && (plain.empty() || plain.back() == ' ')) continue;
    plain += blank ? ' ' : text[i];
  }
  constexpr std::string_view kWord = "Version: ";
  if (const auto at = plain.find(kWord); at != std::string::npos) plain.erase(at, kWord.size());
  return plain;
}

std::vector<std::string> hosts_of(const job::Job& job) {
  std::vector<std::string> hosts;
  for (const job::JobRecord& record : job.records) {
    std::string host(job::host_of(record.host));
    if (std::find(hosts.begin(), hosts.end(), host) == hosts.end()) {
      hosts.push_back(std::move(host));
    }
  }
  return hosts;
}

// The ids of all the hosts; empty if the cluster lacks one of them.
std::vector<base::HostId> ids_in(const topology::Cluster& cluster,
                                 const std::vector<std::string>& hosts) {
  std::vector<base::HostId> ids;
  for (const std::string& host : hosts) {
    const auto id = cluster.find_host(host);
    if (!id) return {};
    ids.push_back(*id);
  }
  return ids;
}

std::string other_links(const topology::Cluster& measured, const topology::Cluster& given,
                        const std::vector<std::string>& hosts) {
  const auto there = ids_in(measured, hosts);
  const auto here = ids_in(given, hosts);
  if (there.empty() || here.empty()) return {};
  const double rate_there = plan::tune(measured, there).host_rate_mbit_s;
  const double rate_here = plan::tune(given, here).host_rate_mbit_s;
  if (differ(rate_there, rate_here)) {
    return fmt::format("its hosts have links of {:.4g} Mbit/s, by the cluster file {:.4g} Mbit/s",
                       rate_there, rate_here);
  }
  const double least_there = topology::alltoall_limit_seconds(measured, there, kComparedBytes);
  const double least_here = topology::alltoall_limit_seconds(given, here, kComparedBytes);
  if (!differ(least_there, least_here)) return {};
  return fmt::format("its links need {:.3g} s for 1 MiB per pair, by the cluster file {:.3g} s",
                     least_there, least_here);
}

}  // namespace

std::string other_network(const model::Profile& profile, const job::Job& job) {
  const auto hosts = hosts_of(job);
  for (const std::string& host : hosts) {
    if (std::find(profile.hosts.begin(), profile.hosts.end(), host) == profile.hosts.end()) {
      return fmt::format("it does not know host {}", host);
    }
  }
  const std::string library = job.mpi->library();
  if (!profile.mpi.empty() && library_and_version(profile.mpi) != library_and_version(library)) {
    return fmt::format("it was measured with {}, this job has {}", profile.mpi, library);
  }
  if (profile.time_scale != job.options.time_scale) {
    return fmt::format("it was measured at a time scale of {:g}, this job has {:g}",
                       profile.time_scale, job.options.time_scale);
  }
  std::uint32_t mtu_bytes = job.options.mtu_bytes;
  if (job.cluster) {
    if (profile.cluster) {
      if (auto links = other_links(*profile.cluster, *job.cluster, hosts); !links.empty()) {
        return links;
      }
    }
    const auto ids = ids_in(*job.cluster, hosts);
    if (mtu_bytes == 0 && !ids.empty()) mtu_bytes = plan::tune(*job.cluster, ids).mtu_bytes;
  }
  if (mtu_bytes != 0 && mtu_bytes != profile.mtu_bytes) {
    return fmt::format("it was measured with an MTU of {} bytes, this job has {}",
                       profile.mtu_bytes, mtu_bytes);
  }
  return {};
}

}  // namespace alm::session

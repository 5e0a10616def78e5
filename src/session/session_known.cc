// What the job knows at its start, and from where: five lines with ALLEMANDE_LOG=info
// (docs/by-itself.md).
#include "session/session_known.h"

#include <fmt/format.h>

#include <set>
#include <string>
#include <vector>

#include "base/hostlist.h"
#include "job/host_links.h"
#include "job/network_links.h"
#include "session/session.h"

namespace alm::session {
namespace {

std::string hosts_text(const job::Job& job) {
  std::set<std::pair<std::string, std::uint32_t>> hosts;
  for (const job::JobRecord& record : job.records) {
    hosts.emplace(job::host_of(record.host), record.machine);
  }
  return fmt::format("{} ranks on {} hosts, by their names and kernels", job.records.size(),
                     hosts.size());
}

std::string switches_text(const job::Job& job) {
  if (job.cluster) {
    const std::size_t count = job.cluster->switches.size();
    return fmt::format("{} {} with {} hosts, by {}", count, count == 1 ? "switch" : "switches",
                       job.cluster->host_count(), job.options.cluster);
  }
  const job::HostSwitches& known = job.switches;
  if (!known.names.empty()) {
    return fmt::format("this host hangs on {}, by {}; queues are not known", known.names, known.by);
  }
  const std::string without = "not known; all hosts are taken to hang on one";
  return known.trouble.empty() ? without : fmt::format("{} ({})", without, known.trouble);
}

std::string link_text(const job::NetworkLink& link) {
  std::string text = fmt::format("{} ({}/{})", link.interface, job::to_string(link.address),
                                 link.address.prefix_bits);
  if (link.mbit_s > 0) text += fmt::format(", {} Mbit/s", link.mbit_s);
  if (link.mtu_bytes > 0) text += fmt::format(", MTU {}", link.mtu_bytes);
  return text;
}

std::string links_text() {
  std::string text;
  for (const job::NetworkLink& link : job::network_links()) {
    text += (text.empty() ? "" : "; ") + link_text(link);
  }
  return text.empty() ? "none but loopback" : text + ", by the kernel of this host";
}

std::string times_text(const job::Job& job) {
  if (job.profile) return "by the profile " + job.options.profile;
  return job.cluster ? "the least that links allow, by the cluster file"
                     : "not known before exchanges are made";
}

}  // namespace

void drop_file_of_others(job::Job& job) {
  if (!job.cluster) return;
  std::set<std::string> missing;
  for (const job::JobRecord& record : job.records) {
    const std::string_view host = job::host_of(record.host);
    if (!job::find_host(*job.cluster, host)) missing.emplace(host);
  }
  if (missing.empty()) return;
  if (job.rank == 0) {
    const std::vector<std::string> names(missing.begin(), missing.end());
    job.log.warning(fmt::format(
        "{} ({} hosts) does not name {} {} of this job: the job does without a cluster file",
        job.options.cluster, job.cluster->host_count(), names.size() == 1 ? "host" : "hosts",
        base::compress_hostlist(names)));
  }
  job.cluster.reset();
}

void Session::say_what_is_known() const {
  if (job_.rank != 0 || !accelerating_ || !job_.log.shows(job::LogLevel::kInfo)) return;
  job_.log.info("known, hosts: " + hosts_text(job_));
  job_.log.info("known, switches: " + switches_text(job_));
  job_.log.info("known, links: " + links_text());
  job_.log.info("known, times of exchanges: " + times_text(job_));
  job_.log.info(decisions_.kept
                    ? fmt::format("known, decisions: {} of earlier jobs like this one, by {}",
                                  job_.known.size(), decisions_.path)
                    : "known, decisions: none are kept");
}

}  // namespace alm::session

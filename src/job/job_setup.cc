#include "job/job_setup.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "base/text_file.h"
#include "job/alike_links.h"
#include "job/machine.h"
#include "job/settings.h"
#include "job/sites.h"
#include "job/slurm_leaf.h"
#include "transport/io/address.h"

namespace alm::job {
namespace {

std::string host_name() {
  std::array<char, kHostNameBytes> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

base::Result<std::string> read_cluster(Job& job, const std::string& named_by) {
  if (job.options.cluster.empty()) return std::string();
  auto text =
      base::read_text(job.options.cluster, topology::kClusterFileBytesMax, "a cluster file");
  if (!text) return base::bad_input(named_by + text.error().message);
  auto cluster = topology::parse_cluster(text.value(), job.options.cluster);
  if (!cluster) return cluster.error();
  job.cluster = std::move(cluster).value();
  return text;
}

}  // namespace

base::Status set_up(Job& job, JobRecord& record, const JobSettings& settings) {
  job.host = settings.host.empty() ? host_name() : settings.host;
  set_host(record.host, job.host);
  record.machine = settings.host.empty() ? this_machine() : 0;
  job.switches = slurm_switches(base::process_environment(), job.host);
  const auto addresses = interface_addresses();
  record.address_count =
      static_cast<std::uint32_t>(std::min(addresses.size(), record.addresses.size()));
  std::copy_n(addresses.begin(), record.address_count, record.addresses.begin());
  record.fast_addresses = fastest_devices(
      std::span(record.addresses).first(record.address_count), [](const InterfaceAddress& address) {
        const auto local = io::make_address(to_string(address), 0);
        return LinkDevice{interface_of(address), local ? io::interface_speed(local.value()) : 0};
      });
  if (job.host.size() >= kHostNameBytes) {
    return base::bad_input(
        fmt::format("the host name `{}` is longer than {} bytes", job.host, kHostNameBytes - 1));
  }

  const std::string who = fmt::format("rank {} ({})", job.rank, job.host);
  job.log = settings.make_log(who, "warning");
  auto options = base::load_options();
  if (!options) return options.error();
  job.options = std::move(options).value();
  for (const std::string& assignment : settings.options) {
    if (auto set = base::set_option(job.options, assignment); !set) return set;
  }
  if (!settings.cluster_file.empty()) job.options.cluster = settings.cluster_file;
  job.log = settings.make_log(who, job.options.log);
  if (auto possible = check_path_options(job.options); !possible) return possible;

  if (job.options.site.size() >= kHostNameBytes) {
    return base::bad_input(fmt::format("ALLEMANDE_SITE: `{}` is longer than {} bytes",
                                       job.options.site, kHostNameBytes - 1));
  }
  if (auto possible = check_sites(job.options.sites); !possible) return possible;

  const auto text = read_cluster(job, settings.cluster_named_by);
  if (!text) return text.error();
  record.usable = 1;
  record.names_interface = job.options.interface.empty() ? 0 : 1;
  record.configuration = configuration_hash(base::shared_options_text(job.options), text.value());
  return {};
}

}  // namespace alm::job

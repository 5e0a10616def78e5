#include "job/job.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "job/host_links.h"
#include "job/settings.h"

namespace alm::job {
namespace {

std::vector<InterfaceAddress> addresses_in(const JobRecord& record) {
  const auto count = std::min<std::size_t>(record.address_count, kAddressesMax);
  return {record.addresses.begin(), record.addresses.begin() + count};
}

}  // namespace

base::Result<io::Driver*> Job::driver() {
  const std::lock_guard lock(mutex_);
  if (driver_) return driver_.get();
  if (!obstacle_) {
    auto opened = open();
    if (opened) {
      driver_ = std::move(opened).value();
      return driver_.get();
    }
    obstacle_ = opened.error();
  }
  return *obstacle_;
}

void Job::close_driver() {
  const std::lock_guard lock(mutex_);
  driver_.reset();
  obstacle_ = base::io_error("MPI_Finalize has been called");
}

void Job::record(tuning::Decision decision) {
  const std::lock_guard lock(mutex_);
  tuning::merge(recorded_, std::move(decision));
}

std::vector<tuning::Decision> Job::recorded() {
  const std::lock_guard lock(mutex_);
  return recorded_;
}

void Job::warn_once(const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (said_.insert(text).second) log.warning(text);
}

void Job::warn_of_rates(const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (std::exchange(warned_of_rates_, true)) return;
  log.warning(text);
}

void Job::check_rate() {
  if (rank != 0 || !cluster || !driver_) return;
  const io::RateClaim claim = driver_->rate();
  if (claim.verdict() != io::RateClaim::Verdict::kTooLow) return;
  const auto id = find_host(*cluster, host);
  if (!id) return;
  warn_of_rates(fmt::format(
      "{}:{}: the rate of {} is too low: {}. Nothing is held to it; correct the file.",
      options.cluster, claim_of(*cluster, *id, first_link(), links()).line, host,
      claim.outrun()
          ? fmt::format("{:.3g} Mbit/s have come in an exchange", claim.received_mbit_s())
          : "its interface is faster"));
}

// The option, then the cluster file, then the interface whose subnet all hosts share, then the
// route.
base::Result<Job::LocalAddress> Job::local_address(std::size_t link) const {
  std::vector<std::vector<InterfaceAddress>> others;
  for (const auto& record : records) {
    if (!on_one_host(record, records[rank])) others.push_back(addresses_in(record));
  }
  std::string peer;
  for (const auto& addresses : others) {
    if (peer.empty() && !addresses.empty()) peer = to_string(addresses.front());
  }
  const auto chosen = [&](const std::string& interface,
                          const char* why) -> base::Result<LocalAddress> {
    auto address = io::choose_local_address(interface, peer);
    if (!address) return address.error();
    return LocalAddress{std::move(address).value(), why};
  };
  if (!options.interface.empty()) return chosen(options.interface, "ALLEMANDE_INTERFACE");
  if (cluster) {
    if (const auto id = find_host(*cluster, host)) {
      const topology::Host::Nic nic = nic_of(cluster->hosts[id->value], link);
      const char* const why = links() > 1 ? "the first of the host's links in the cluster file"
                                          : "of the host's links in the cluster file the fastest";
      if (!nic.address.empty()) return LocalAddress{nic.address, why};
      if (!nic.interface.empty()) return chosen(nic.interface, why);
    }
  }
  const auto mine = addresses_in(records[rank]);
  if (const auto address = common_subnet_address(mine, others)) {
    return LocalAddress{to_string(*address), "in the first subnet that all hosts share"};
  }
  if (others.empty()) return LocalAddress{"127.0.0.1", "there is no other host"};
  if (peer.empty()) {
    return base::io_error("no host but this one has an address other than loopback");
  }
  return chosen("", "by the route to another host");
}

std::vector<base::HostId> Job::hosts() const {
  std::vector<base::HostId> out;
  for (const auto& record : records) {
    const auto id = find_host(*cluster, host_of(record.host));
    if (id && std::find(out.begin(), out.end(), *id) == out.end()) out.push_back(*id);
  }
  return out;
}

// As many as all hosts of the job have addresses for. An interface that is named is the only one.
std::uint32_t Job::links() const {
  if (!cluster || !options.interface.empty()) return 1;
  auto count = static_cast<std::size_t>(std::min<std::int64_t>(options.paths, io::kSocketsMax));
  for (const auto& record : records) {
    if (count == 1) break;
    const auto id = find_host(*cluster, host_of(record.host));
    if (!id || cluster->hosts[id->value].address.empty()) return 1;
    const auto& further = cluster->hosts[id->value].further;
    const auto none = std::find_if(further.begin(), further.end(),
                                   [](const auto& nic) { return nic.address.empty(); });
    count = std::min(count, 1 + static_cast<std::size_t>(none - further.begin()));
  }
  return static_cast<std::uint32_t>(count);
}

// With several links in use they are in the order of the file.
std::size_t Job::first_link() const {
  return !cluster || links() > 1 ? 0 : fastest_link(*cluster, hosts());
}

base::Result<std::unique_ptr<io::Driver>> Job::open() const {
  const std::size_t first = first_link();
  auto address = local_address(first);
  if (!address) return address.error();
  std::optional<plan::Tuning> tuning;
  if (cluster) tuning = plan::tune(*cluster, hosts());
  const std::uint32_t count = links();
  auto wanted = endpoint_options(options, tuning ? &*tuning : nullptr, count);
  if (const auto id = cluster ? find_host(*cluster, host) : std::nullopt) {
    wanted.host_mbit_s = claim_of(*cluster, *id, first, count).mbit_s;
  }
  wanted.local_address = std::move(address.value().address);
  if (rank == 0) {
    log.info(fmt::format("packets leave by {}: {}", wanted.local_address, address.value().why));
  }
  for (std::uint32_t link = 1; link < count; ++link) {
    const auto& entry = cluster->hosts[find_host(*cluster, host)->value];
    wanted.further_addresses.push_back(entry.further[link - 1].address);
  }
  auto endpoint = io::Endpoint::open(wanted);
  if (!endpoint) return endpoint.error();
  return io::Driver::create(std::move(endpoint).value(), true, options.time_scale);
}

}  // namespace alm::job

#include "job/job.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "job/alike_links.h"
#include "job/host_links.h"
#include "job/networks.h"
#include "job/reach.h"
#include "job/settings.h"
#include "topology/find_hosts.h"

namespace alm::job {
namespace {

// Within which a hello comes, on the network that carries it.
constexpr base::Nanos kReachPatience = 300 * base::kMillisecond;

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

void Job::record(tuning::Decision decision, bool decided) {
  const std::lock_guard lock(mutex_);
  const auto same = [&](const tuning::Decision& one) {
    return tuning::same_subject(one, decision);
  };
  if (!decided && std::any_of(recorded_.begin(), recorded_.end(), same)) return;
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

void Job::warn_first(std::string_view about, const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (said_.emplace(about).second) log.warning(text);
}

void Job::check_rate() {
  if (rank != 0 || !cluster || !driver_) return;
  const clocks::RateClaim claim = driver_->rate();
  if (claim.verdict() != clocks::RateClaim::Verdict::kTooLow) return;
  const auto id = find_host(*cluster, host);
  if (!id) return;
  warn_first(
      "rates",
      fmt::format("{}:{}: the rate of {} is too low: {}. Nothing is paced by it; correct the file.",
                  options.cluster,
                  claim_of(*cluster, *id, local_addresses().at(network_).link, links()).line, host,
                  claim.outrun() ? fmt::format("{:.3g} Mbit/s have come in an exchange",
                                               claim.received_mbit_s())
                                 : "its interface is faster"));
}

// The option, then the cluster file, then the subnets that all hosts share, then the route.
std::vector<Job::LocalAddress> Job::local_addresses() const {
  std::vector<std::vector<InterfaceAddress>> others;
  for (const auto& record : records) {
    if (!on_one_host(record, records[rank])) others.push_back(addresses_in(record));
  }
  std::string peer;
  for (const auto& addresses : others) {
    if (peer.empty() && !addresses.empty()) peer = to_string(addresses.front());
  }
  if (!options.interface.empty()) {
    return {{io::choose_local_address(options.interface, peer), "ALLEMANDE_INTERFACE"}};
  }
  if (cluster) {
    const char* const why = links() == 1 ? "of the host's links in the cluster file the fastest"
                                         : "the first of the host's links in the cluster file";
    std::vector<LocalAddress> found;
    for (const std::size_t link : links_tried()) {
      const auto id = find_host(*cluster, host);
      const topology::Host::Nic nic =
          id ? nic_of(cluster->hosts[id->value], link) : topology::Host::Nic{};
      if (!nic.address.empty()) {
        found.push_back({nic.address, why, link});
      } else if (!nic.interface.empty()) {
        found.push_back({io::choose_local_address(nic.interface, peer), why, link});
      }
    }
    if (!found.empty()) return found;
  }
  std::vector<std::vector<InterfaceAddress>> by_host;
  std::size_t self = 0;
  for (const std::uint32_t first : first_ranks(records)) {
    if (on_one_host(records[first], records[rank])) self = by_host.size();
    by_host.push_back(addresses_in(records[first]));
  }
  if (const auto subnets = common_subnets(by_host, self); !subnets.empty()) {
    const std::string why =
        subnets.size() == 1
            ? "in the subnet that all hosts share"
            : fmt::format("by the speeds of interfaces, of the {} subnets that all hosts share",
                          subnets.size());
    std::vector<LocalAddress> found;
    for (const InterfaceAddress& address : subnets) found.push_back({to_string(address), why});
    return found;
  }
  if (others.empty()) return {{std::string("127.0.0.1"), "there is no other host"}};
  if (peer.empty()) {
    return {{base::io_error("no host but this one has an address other than loopback")}};
  }
  return {{io::choose_local_address("", peer), "by the route to another host"}};
}

std::vector<std::size_t> Job::links_tried() const {
  if (links() > 1) return {0};
  auto found = ranked_links(*cluster, hosts());
  return found.empty() ? std::vector<std::size_t>{0} : found;
}

// The option `interface` may be set on some hosts alone. No host then looks for another network.
bool Job::names_interface() const {
  return std::any_of(records.begin(), records.end(),
                     [](const JobRecord& record) { return record.names_interface != 0; });
}

void Job::choose_network(CommHandle world) {
  if (options.transport == "mpi" || names_interface()) return;
  const auto is_unknown = [this](const JobRecord& record) {
    return !find_host(*cluster, host_of(record.host));
  };
  if (cluster && std::any_of(records.begin(), records.end(), is_unknown)) return;  // refused later
  // Those that the file names no port of have other addresses to choose from than the others.
  if (cluster && names_some(*cluster, hosts(), links_tried().front())) return;
  const auto found = local_addresses();
  if (found.size() < 2) return;
  std::vector<std::string> addresses;
  for (const LocalAddress& one : found) {
    addresses.push_back(one.address ? one.address.value() : std::string());
  }
  const auto reach = find_reach(bootstrap, world, records, rank, addresses, random_bytes,
                                base::slowed(kReachPatience, options.time_scale));
  if (!reach) return;  // on all ranks
  network_ = reach.value().network;
  if (!reach.value().carries) return;  // the hello will say so
  for (std::size_t network = 0; network < reach.value().gaps.size(); ++network) {
    const Reach::Gap& gap = reach.value().gaps[network];
    passed_over_ += fmt::format("; not by {}, over which {} has not heard {}", addresses[network],
                                gap.to, gap.from);
  }
}

bool Job::has_nonblocking() const {
  return mpi != nullptr && agreement.threads && !agreement.device_memory && takes_threads(options);
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
// Links that differ in rate are used if the options ask for paths and the cluster file names them.
std::uint32_t Job::links() const {
  if (names_interface()) return 1;
  auto count = static_cast<std::size_t>(std::min(paths_max(options), io::kSocketsMax));
  if (!cluster) {
    // Where the fastest network does not carry, nobody has looked at the others of its kind.
    if (records.empty() || network_ != 0) return 1;
    count = std::min(count, alike_links(records, rank).size());
    return std::max(1u, static_cast<std::uint32_t>(count));
  }
  for (const auto& record : records) {
    if (count == 1) break;
    const auto id = find_host(*cluster, host_of(record.host));
    if (!id || cluster->hosts[id->value].address.empty()) return 1;
    const auto& further = cluster->hosts[id->value].further;
    const auto none = std::find_if(further.begin(), further.end(),
                                   [](const auto& nic) { return nic.address.empty(); });
    count = std::min(count, 1 + static_cast<std::size_t>(none - further.begin()));
    for (std::size_t link = 1; link < count && !paths_asked(options); ++link) {
      if (claim_of(*cluster, *id, link, 1).mbit_s != claim_of(*cluster, *id, 0, 1).mbit_s) return 1;
    }
  }
  return static_cast<std::uint32_t>(count);
}

base::Result<std::unique_ptr<io::Driver>> Job::open() {
  const LocalAddress chosen = local_addresses().at(network_);
  if (!chosen.address) return chosen.address.error();
  std::optional<plan::Tuning> tuning;
  if (cluster) tuning = plan::tune(*cluster, hosts());
  const std::uint32_t count = links();
  auto wanted = endpoint_options(options, tuning ? &*tuning : nullptr, count);
  if (const auto id = cluster ? find_host(*cluster, host) : std::nullopt) {
    wanted.host_mbit_s = claim_of(*cluster, *id, chosen.link, count).mbit_s;
  }
  wanted.local_address = chosen.address.value();
  std::string why = chosen.why;
  if (!cluster && count > 1) {
    const auto links = alike_links(records, rank);
    wanted.local_address = to_string(links.front());
    why = fmt::format("the first of {} links that are equally fast", count);
    for (std::uint32_t link = 1; link < count; ++link) {
      wanted.further_addresses.push_back(to_string(links[link]));
    }
  }
  if (rank == 0) {
    log.info(fmt::format("packets leave by {}: {}{}", wanted.local_address, why, passed_over_));
  }
  for (std::uint32_t link = 1; cluster && link < count; ++link) {
    const auto& entry = cluster->hosts[find_host(*cluster, host)->value];
    wanted.further_addresses.push_back(entry.further[link - 1].address);
  }
  auto endpoint = io::Endpoint::open(wanted);
  if (!endpoint) return endpoint.error();
  auto driver = io::Driver::create(std::move(endpoint).value(), true, options.time_scale);
  if (driver) driver.value()->tell_doing({[this] { return doing.now(); }, Doing::text});
  return driver;
}

}  // namespace alm::job

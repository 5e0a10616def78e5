#include "session/decision_cache.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

namespace alm::session {
namespace {

constexpr std::string_view kFolder = "/allemande";
constexpr std::string_view kName = "/decisions.toml";

std::string value_of(const base::Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::string() : found->second;
}

// Whether the other host has an address in the subnet. Not where it has the address itself, as all
// hosts have that of a container bridge.
bool reaches(const job::InterfaceAddress& address, const job::JobRecord& other) {
  const std::span addresses(other.addresses.data(), other.address_count);
  if (std::find(addresses.begin(), addresses.end(), address) != addresses.end()) return false;
  return std::any_of(addresses.begin(), addresses.end(),
                     [&](const auto& one) { return job::same_subnet(address, one); });
}

}  // namespace

std::string cache_file(const base::Environment& environment) {
  std::string directory = value_of(environment, "XDG_CACHE_HOME");
  // The XDG base directory specification: relative paths are to be ignored.
  if (!directory.starts_with('/')) {
    const std::string home = value_of(environment, "HOME");
    if (!home.starts_with('/')) return {};
    directory = home + "/.cache";
  }
  return directory + std::string(kFolder) + std::string(kName);
}

void make_cache_directory(const std::string& file) {
  constexpr mode_t kOwner = 0700;
  const auto folder = std::filesystem::path(file).parent_path();
  ::mkdir(folder.parent_path().c_str(), kOwner);
  ::mkdir(folder.c_str(), kOwner);
}

std::string network_hash(std::span<const job::JobRecord> records,
                         std::span<const job::NetworkLink> links_of_rank0) {
  const job::JobRecord& first = records.front();
  std::map<std::string, std::uint32_t> ranks_on;
  for (const job::JobRecord& record : records) ++ranks_on[std::string(job::host_of(record.host))];
  std::set<std::string> links;
  for (const job::NetworkLink& link : links_of_rank0) {
    const bool common = std::all_of(records.begin(), records.end(), [&](const auto& record) {
      return job::on_one_host(record, first) || reaches(link.address, record);
    });
    if (!common) continue;
    links.insert(fmt::format("{}/{} {} {}", job::to_string(job::subnet_of(link.address)),
                             link.address.prefix_bits, link.mbit_s, link.mtu_bytes));
  }
  std::string text;
  for (const auto& [host, ranks] : ranks_on) text += fmt::format("{} {}\n", host, ranks);
  for (const std::string& link : links) text += link + "\n";
  return fmt::format("{:016x}", job::configuration_hash(text, {}));
}

}  // namespace alm::session

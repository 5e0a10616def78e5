#include "meeting/peer_record.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <type_traits>

#include "base/hostlist.h"
#include "job/host_links.h"
#include "transport/io/address.h"

namespace alm::meeting {
namespace {

static_assert(std::is_trivially_copyable_v<PeerRecord>);

}  // namespace

void set_cause(PeerRecord& record, std::string_view cause) {
  record.explains = cause.empty() ? 0 : 1;
  record.cause.fill('\0');
  std::copy_n(cause.begin(), std::min(cause.size(), kCauseBytes - 1), record.cause.begin());
}

void set_site(PeerRecord& record, std::string_view site) {
  record.site.fill('\0');
  std::copy_n(site.begin(), std::min(site.size(), record.site.size() - 1), record.site.begin());
}

void set_addresses(PeerRecord& record, const io::Endpoint& endpoint, std::uint32_t sockets,
                   std::uint32_t links) {
  record.udp = 1;
  record.paths = static_cast<std::uint8_t>(std::min<std::size_t>(sockets, kSocketsMax));
  record.datagram_bytes = endpoint.datagram_bytes();
  for (std::uint32_t path = 0; path < record.paths; ++path) {
    const io::Address address = endpoint.local(path);
    record.family = static_cast<std::uint8_t>(address.storage.ss_family);
    record.ports[path] = io::port_of(address);
    const std::uint32_t link = path % links;
    auto& bytes = link == 0 ? record.address : record.further[link - 1];
    if (record.family == AF_INET) {
      const auto* ip = reinterpret_cast<const sockaddr_in*>(&address.storage);
      std::memcpy(bytes.data(), &ip->sin_addr, sizeof ip->sin_addr);
    } else {
      const auto* ip = reinterpret_cast<const sockaddr_in6*>(&address.storage);
      std::memcpy(bytes.data(), &ip->sin6_addr, sizeof ip->sin6_addr);
    }
  }
  record.links = static_cast<std::uint8_t>(links);
}

base::Result<std::vector<io::Address>> addresses_of(const PeerRecord& record) {
  const std::size_t links = std::clamp<std::size_t>(record.links, 1, record.further.size() + 1);
  std::vector<std::string> numeric;
  for (std::size_t link = 0; link < links; ++link) {
    numeric.push_back(job::to_string(
        {.family = record.family, .bytes = link == 0 ? record.address : record.further[link - 1]}));
  }
  std::vector<io::Address> addresses;
  for (std::size_t path = 0; path < std::min<std::size_t>(record.paths, kSocketsMax); ++path) {
    auto address = io::make_address(numeric[path % links], record.ports[path]);
    if (!address) return address.error();
    addresses.push_back(std::move(address).value());
  }
  return addresses;
}

std::optional<io::Address> first_address(const PeerSockets& sockets) {
  PeerRecord record;
  static_cast<PeerSockets&>(record) = sockets;
  const auto addresses = addresses_of(record);
  if (record.udp == 0 || !addresses || addresses.value().empty()) return std::nullopt;
  return addresses.value().front();
}

plan::Placement place(std::span<const PeerRecord> records, bool apart) {
  std::vector<std::string> hosts;
  for (const auto& record : records) {
    if (apart) {
      hosts.push_back(std::to_string(hosts.size()));
    } else {
      hosts.push_back(fmt::format("{}/{:08x}", job::host_of(record.host), record.machine));
    }
  }
  return plan::Placement::of(std::vector<std::string_view>(hosts.begin(), hosts.end()));
}

std::vector<PeerRecord> leaders_of(std::span<const PeerRecord> records,
                                   const plan::Placement& placement, std::uint32_t leader) {
  std::vector<PeerRecord> leaders;
  for (const auto& ranks : placement.ranks) leaders.push_back(records[ranks[leader]]);
  return leaders;
}

plan::LeafOf leaves_told(std::span<const PeerRecord> leaders) {
  std::vector<std::uint32_t> numbers, of;
  for (const PeerRecord& leader : leaders) {
    if (leader.leaf == 0) return {};
    const auto known = std::find(numbers.begin(), numbers.end(), leader.leaf);
    of.push_back(static_cast<std::uint32_t>(known - numbers.begin()));
    if (known == numbers.end()) numbers.push_back(leader.leaf);
  }
  if (numbers.size() < 2) return {};
  return {of, std::vector<std::uint32_t>(of.size(), 0)};
}

Membership judge(std::span<const PeerRecord> records, const plan::Placement& placement,
                 const topology::Cluster* cluster) {
  Membership membership;
  const auto leaders = leaders_of(records, placement);
  if (leaders.size() == 1) {
    membership.refusal = fmt::format("its ranks are all on {}", job::host_of(leaders.front().host));
    return membership;
  }
  if (cluster == nullptr) return membership;
  std::vector<std::string> missing;
  for (const auto& leader : leaders) {
    const auto host = job::find_host(*cluster, job::host_of(leader.host));
    if (host) {
      membership.hosts.push_back(*host);
    } else {
      missing.emplace_back(job::host_of(leader.host));
    }
  }
  if (missing.empty()) return membership;
  std::sort(missing.begin(), missing.end());
  missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
  membership.refusal =
      fmt::format("the cluster file ({} hosts) does not name {} {}", cluster->host_count(),
                  missing.size() == 1 ? "host" : "hosts", base::compress_hostlist(missing));
  return membership;
}

std::string udp_obstacle(std::span<const PeerRecord> records) {
  for (const auto& record : records) {
    if (record.udp == 0)
      return fmt::format("{}: {}", job::host_of(record.host), record.cause.data());
    if (record.family != records.front().family || record.paths != records.front().paths) {
      return fmt::format("{} and {} use different address families or numbers of paths",
                         job::host_of(records.front().host), job::host_of(record.host));
    }
  }
  return {};
}

std::string socket_warning(std::span<const PeerRecord> records) {
  const auto warns = [](const PeerRecord& record) { return record.cause.front() != '\0'; };
  const auto first = std::find_if(records.begin(), records.end(), warns);
  if (first == records.end()) return {};
  const auto others = std::count_if(std::next(first), records.end(), warns);
  const std::string more =
      others > 0 ? fmt::format(" (and on {} other host{})", others, others == 1 ? "" : "s") : "";
  return fmt::format("{}{}: {}", job::host_of(first->host), more, first->cause.data());
}

// Uniformly random as long as one contribution is; known only to those MPI gave the records.
transport::Key common_key(std::span<const PeerRecord> records) {
  std::vector<transport::Key> contributions;
  for (const auto& record : records) contributions.push_back(record.key);
  const auto hash =
      XXH3_128bits(contributions.data(), contributions.size() * sizeof(transport::Key));
  return {hash.low64, hash.high64};
}

std::uint32_t common_datagram_bytes(std::span<const PeerRecord> records) {
  std::uint32_t bytes = records.front().datagram_bytes;
  for (const auto& record : records) bytes = std::min(bytes, record.datagram_bytes);
  return bytes;
}

}  // namespace alm::meeting

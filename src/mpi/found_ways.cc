#include "mpi/found_ways.h"

#include <netinet/in.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <type_traits>

#include "plan/assigned_ways.h"

namespace alm::mpi {
namespace {

static_assert(std::is_trivially_copyable_v<RouterRecord>);

constexpr std::size_t kLeafQuestions = 16;
constexpr RouterAddress kNobody{};

RouterAddress bytes_of(const io::Address& address) {
  RouterAddress bytes{};
  if (address.length == 0) return bytes;
  if (address.family() == AF_INET) {
    const auto* ip = reinterpret_cast<const sockaddr_in*>(&address.storage);
    std::memcpy(bytes.data(), &ip->sin_addr, sizeof ip->sin_addr);
  } else {
    const auto* ip = reinterpret_cast<const sockaddr_in6*>(&address.storage);
    std::memcpy(bytes.data(), &ip->sin6_addr, sizeof ip->sin6_addr);
  }
  return bytes;
}

std::vector<std::uint32_t> leaves(std::span<const RouterRecord> records) {
  std::vector<std::uint32_t> leaf_of;
  std::map<RouterAddress, std::uint32_t> numbers;
  for (const RouterRecord& record : records) {
    const bool known = record.leaf != kNobody;
    const auto next = static_cast<std::uint32_t>(numbers.size());
    leaf_of.push_back(known ? numbers.emplace(record.leaf, next).first->second : plan::kNoLeaf);
  }
  return leaf_of;
}

std::vector<RouterAddress> all_routers(std::span<const RouterRecord> records) {
  std::vector<RouterAddress> all;
  for (const RouterRecord& record : records) {
    all.insert(all.end(), record.next.begin(), record.next.begin() + record.count);
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

// Path numbers to one host: in turn by each way that is known to lead there, beginning with
// `first`, and each with a five-tuple of its own as long as there are some.
void number_paths(const std::vector<io::Tuples>& by_way, std::uint32_t paths, std::uint32_t first,
                  io::Tuples& tuples, std::vector<std::uint8_t>& way_of) {
  const auto ways = static_cast<std::uint32_t>(by_way.size());
  std::vector<std::uint32_t> used(ways, 0);
  for (std::uint32_t at = first, looked = 0; tuples.size() < paths && looked < ways; ++at) {
    const std::uint32_t way = at % ways;
    ++looked;
    if (by_way[way].empty()) continue;
    looked = 0;
    tuples.push_back(by_way[way][used[way]++ % by_way[way].size()]);
    way_of.push_back(static_cast<std::uint8_t>(way));
  }
}

}  // namespace

bool finds_ways(const base::Options& options, std::uint32_t links) {
  return options.paths > 1 && options.find_ways && links == 1;
}

bool assigns_paths(const base::Options& options, const FoundWays& ways) {
  return options.path_policy == "assigned" && ways.known() &&
         ways.leaf_of.size() <= plan::kAssignedMembersMax;
}

std::uint8_t FoundWays::path_by(std::uint32_t host, std::uint8_t way) const {
  const auto& ways = way_of[host];
  if (ways.empty() || way == plan::kNoWay) return 0;
  const auto found = std::find(ways.begin(), ways.end(), way);
  if (found != ways.end()) return static_cast<std::uint8_t>(found - ways.begin());
  return static_cast<std::uint8_t>(way % ways.size());
}

std::string FoundWays::text(std::span<const std::string> hosts) const {
  std::string text;
  for (std::size_t host = 0; host < way_of.size(); ++host) {
    if (way_of[host].empty()) continue;
    text += (text.empty() ? "" : ", ") + hosts[host];
    for (const std::uint8_t way : way_of[host]) text += " " + routers[way];
  }
  return text;
}

std::vector<io::HopQuestion> leaf_questions(HostAddresses addresses, std::uint32_t self) {
  std::vector<io::HopQuestion> questions;
  const std::size_t stride = std::max<std::size_t>(1, addresses.size() / kLeafQuestions);
  for (std::size_t host = 0; host < addresses.size(); host += stride) {
    if (host == self || addresses[host].empty()) continue;
    const auto to =
        io::make_address(io::to_numeric_string(addresses[host].front()), io::kDiscardPort);
    if (to) questions.push_back({0, to.value(), 1});
  }
  return questions;
}

std::vector<io::HopQuestion> way_questions(HostAddresses addresses, std::uint32_t self,
                                           std::span<const RouterRecord> records) {
  std::vector<io::HopQuestion> questions;
  const auto leaf_of = leaves(records);
  // Neighbours ask different hosts first.
  for (std::size_t i = 1; i < addresses.size(); ++i) {
    const std::size_t host = (self + i) % addresses.size();
    if (leaf_of[self] == plan::kNoLeaf || leaf_of[host] == plan::kNoLeaf) continue;
    if (leaf_of[host] == leaf_of[self]) continue;
    const std::size_t sockets = addresses[host].size();
    for (std::size_t socket = 0; socket < sockets; ++socket) {
      for (const io::Address& to : addresses[host]) {
        questions.push_back({static_cast<std::uint8_t>(socket), to, 2});
      }
    }
  }
  return questions;
}

RouterRecord leaf_record(std::span<const io::Address> routers) {
  RouterRecord record;
  const auto found = std::find_if(routers.begin(), routers.end(),
                                  [](const io::Address& router) { return router.length > 0; });
  if (found != routers.end()) record.leaf = bytes_of(*found);
  return record;
}

void add_routers(RouterRecord& record, std::span<const io::Address> routers) {
  std::vector<RouterAddress> all;
  for (const io::Address& router : routers) {
    if (router.length > 0) all.push_back(bytes_of(router));
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  record.count = static_cast<std::uint8_t>(std::min(all.size(), kWaysMax));
  std::copy_n(all.begin(), record.count, record.next.begin());
}

FoundWays find_ways(std::span<const RouterRecord> records, std::uint32_t self, std::uint32_t paths,
                    std::span<const io::HopQuestion> questions,
                    std::span<const io::Address> routers, HostAddresses addresses) {
  FoundWays ways;
  const auto all = all_routers(records);
  if (all.size() < 2 || all.size() > kWaysMax) return ways;
  ways.count = static_cast<std::uint32_t>(all.size());
  ways.leaf_of = leaves(records);
  ways.routers.resize(ways.count);
  std::vector<std::vector<io::Tuples>> by_way(addresses.size(),
                                              std::vector<io::Tuples>(ways.count));
  // Questions to a host lie together.
  std::size_t host = self;
  const auto asks = [&](const io::HopQuestion& question) {
    const auto& ports = addresses[host];
    const auto port = std::find(ports.begin(), ports.end(), question.to);
    return port == ports.end() ? ports.size() : static_cast<std::size_t>(port - ports.begin());
  };
  for (std::size_t i = 0; i < questions.size(); ++i) {
    std::size_t port = asks(questions[i]);
    while (port == addresses[host].size()) {
      host = (host + 1) % addresses.size();
      port = asks(questions[i]);
    }
    const auto way = std::lower_bound(all.begin(), all.end(), bytes_of(routers[i]));
    if (routers[i].length == 0 || way == all.end() || *way != bytes_of(routers[i])) continue;
    const auto number = static_cast<std::size_t>(way - all.begin());
    ways.routers[number] = io::to_numeric_string(routers[i]);
    by_way[host][number].push_back({questions[i].socket, static_cast<std::uint8_t>(port)});
  }
  ways.tuples.resize(addresses.size());
  ways.way_of.resize(addresses.size());
  for (std::uint32_t to = 0; to < addresses.size(); ++to) {
    // Hosts begin with different ones: what follows no plan takes path 0.
    number_paths(by_way[to], paths, self + to, ways.tuples[to], ways.way_of[to]);
  }
  return ways;
}

std::vector<std::uint8_t> assigned_paths(const FoundWays& ways, std::uint32_t self,
                                         std::span<const std::vector<base::PeerId>> sends) {
  const auto way = plan::assign_ways(ways.leaf_of, ways.count, sends);
  std::vector<std::uint8_t> paths;
  for (const base::PeerId to : sends[self]) {
    paths.push_back(ways.path_by(to, way[self * ways.leaf_of.size() + to]));
  }
  return paths;
}

std::vector<std::uint8_t> assigned_paths(const FoundWays& ways, std::uint32_t self,
                                         std::span<const std::uint64_t> bytes,
                                         std::span<const base::PeerId> send) {
  const auto way = plan::assign_ways_to_blocks(ways.leaf_of, ways.count, bytes);
  std::vector<std::uint8_t> paths;
  for (const base::PeerId to : send) {
    paths.push_back(ways.path_by(to, way[self * ways.leaf_of.size() + to]));
  }
  return paths;
}

}  // namespace alm::mpi

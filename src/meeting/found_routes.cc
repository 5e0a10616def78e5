#include "meeting/found_routes.h"

#include <netinet/in.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <type_traits>

#include "schedule/assigned_routes.h"

namespace alm::meeting {
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
    leaf_of.push_back(known ? numbers.emplace(record.leaf, next).first->second : schedule::kNoLeaf);
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

// Path numbers to one host: in turn by each route that is known to lead there, beginning with
// `first`, and each with a five-tuple of its own as long as there are some.
void number_paths(const std::vector<io::Tuples>& by_route, std::uint32_t paths, std::uint32_t first,
                  io::Tuples& tuples, std::vector<std::uint8_t>& route_of) {
  const auto routes = static_cast<std::uint32_t>(by_route.size());
  std::vector<std::uint32_t> used(routes, 0);
  for (std::uint32_t at = first, looked = 0; tuples.size() < paths && looked < routes; ++at) {
    const std::uint32_t route = at % routes;
    ++looked;
    if (by_route[route].empty()) continue;
    looked = 0;
    tuples.push_back(by_route[route][used[route]++ % by_route[route].size()]);
    route_of.push_back(static_cast<std::uint8_t>(route));
  }
}

}  // namespace

bool assigns_paths(const base::Options& options, const FoundRoutes& routes) {
  return options.path_policy == "assigned" && routes.known() &&
         routes.leaf_of.size() <= schedule::kAssignedMembersMax;
}

std::uint8_t FoundRoutes::path_by(std::uint32_t host, std::uint8_t route) const {
  const auto& routes = route_of[host];
  if (routes.empty() || route == schedule::kNoRoute) return 0;
  const auto found = std::find(routes.begin(), routes.end(), route);
  if (found != routes.end()) return static_cast<std::uint8_t>(found - routes.begin());
  return static_cast<std::uint8_t>(route % routes.size());
}

std::string FoundRoutes::text(std::span<const std::string> hosts) const {
  std::string text;
  for (std::size_t host = 0; host < route_of.size(); ++host) {
    if (route_of[host].empty()) continue;
    text += (text.empty() ? "" : ", ") + hosts[host];
    for (const std::uint8_t route : route_of[host]) text += " " + routers[route];
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

std::vector<io::HopQuestion> route_questions(HostAddresses addresses, std::uint32_t self,
                                             std::span<const RouterRecord> records) {
  std::vector<io::HopQuestion> questions;
  const auto leaf_of = leaves(records);
  // Neighbours ask different hosts first.
  for (std::size_t i = 1; i < addresses.size(); ++i) {
    const std::size_t host = (self + i) % addresses.size();
    if (leaf_of[self] == schedule::kNoLeaf || leaf_of[host] == schedule::kNoLeaf) continue;
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
  record.count = static_cast<std::uint8_t>(std::min(all.size(), kRoutesMax));
  std::copy_n(all.begin(), record.count, record.next.begin());
}

FoundRoutes find_routes(std::span<const RouterRecord> records, std::uint32_t self,
                        std::uint32_t paths, std::span<const io::HopQuestion> questions,
                        std::span<const io::Address> routers, HostAddresses addresses) {
  FoundRoutes routes;
  const auto all = all_routers(records);
  if (all.size() < 2 || all.size() > kRoutesMax) return routes;
  routes.count = static_cast<std::uint32_t>(all.size());
  routes.leaf_of = leaves(records);
  routes.routers.resize(routes.count);
  std::vector<std::vector<io::Tuples>> by_route(addresses.size(),
                                                std::vector<io::Tuples>(routes.count));
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
    const auto route = std::lower_bound(all.begin(), all.end(), bytes_of(routers[i]));
    if (routers[i].length == 0 || route == all.end() || *route != bytes_of(routers[i])) continue;
    const auto number = static_cast<std::size_t>(route - all.begin());
    routes.routers[number] = io::to_numeric_string(routers[i]);
    by_route[host][number].push_back({questions[i].socket, static_cast<std::uint8_t>(port)});
  }
  routes.tuples.resize(addresses.size());
  routes.route_of.resize(addresses.size());
  for (std::uint32_t to = 0; to < addresses.size(); ++to) {
    // Hosts begin with different ones: what follows no plan takes path 0.
    number_paths(by_route[to], paths, self + to, routes.tuples[to], routes.route_of[to]);
  }
  return routes;
}

std::vector<std::uint8_t> assigned_paths(const FoundRoutes& routes, std::uint32_t self,
                                         std::span<const std::vector<base::PeerId>> sends) {
  const auto route = schedule::assign_routes(routes.leaf_of, routes.count, sends);
  std::vector<std::uint8_t> paths;
  for (const base::PeerId to : sends[self]) {
    paths.push_back(routes.path_by(to, route[self * routes.leaf_of.size() + to]));
  }
  return paths;
}

std::vector<std::uint8_t> assigned_paths(const FoundRoutes& routes, std::uint32_t self,
                                         std::span<const std::uint64_t> bytes,
                                         std::span<const base::PeerId> send) {
  const auto route = schedule::assign_routes_to_blocks(routes.leaf_of, routes.count, bytes);
  std::vector<std::uint8_t> paths;
  for (const base::PeerId to : send) {
    paths.push_back(routes.path_by(to, route[self * routes.leaf_of.size() + to]));
  }
  return paths;
}

}  // namespace alm::meeting

#include "meeting/found_routes.h"

#include <netinet/in.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "schedule/assigned_routes.h"

namespace alm::meeting {
namespace {

static_assert(std::is_trivially_copyable_v<RouterRecord>);

constexpr std::size_t kLeafQuestions = 16;
constexpr std::size_t kDeeperQuestions = 8;
// So many answers beyond one for each middle router would have parted if there were two tops: all
// alike by chance once in 250 hosts.
constexpr std::size_t kOneWay = 8;
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

// Routers by number. Those that any two below them share, directly or by others, are one fabric
// with numbers of its own, in the order of addresses. Leaves share them where routers answer by one
// address; where they answer by that of each link, every leaf is a fabric of its own.
class RouteNumbers {
 public:
  explicit RouteNumbers(std::span<const RouterRecord> records) {
    const auto leaf_of = leaves(records);
    for (std::size_t i = 0; i < records.size(); ++i) {
      if (leaf_of[i] == schedule::kNoLeaf) continue;
      for (std::size_t k = 0; k < records[i].count; ++k) join(leaf_of[i], records[i].next[k]);
    }
    number();
  }
  // Tops, over the middle routers below them.
  explicit RouteNumbers(std::span<const TopRecord> records) {
    std::map<RouterAddress, std::uint32_t> middles;
    for (const TopRecord& record : records) {
      for (std::size_t k = 0; k < record.count; ++k) {
        const auto next = static_cast<std::uint32_t>(middles.size());
        join(middles.emplace(record.middle[k], next).first->second, record.top[k]);
      }
    }
    number();
  }

  std::uint32_t count() const { return count_; }
  std::optional<std::uint32_t> of(const RouterAddress& router) const {
    const auto found = numbers_.find(router);
    return found == numbers_.end() ? std::nullopt : std::optional(found->second);
  }
  // The least number of those below that share routers with this one.
  std::uint32_t fabric_of(std::uint32_t leaf) const {
    for (auto up = parent_.find(leaf); up != parent_.end(); up = parent_.find(leaf)) {
      leaf = up->second;
    }
    return leaf;
  }

 private:
  void join(std::uint32_t leaf, const RouterAddress& router) {
    const std::uint32_t first = leaf_of_router_.emplace(router, leaf).first->second;
    const std::uint32_t a = fabric_of(first), b = fabric_of(leaf);
    if (a != b) parent_[std::max(a, b)] = std::min(a, b);
  }
  void number() {
    std::map<std::uint32_t, std::uint32_t> sizes;  // by fabric
    for (const auto& [router, leaf] : leaf_of_router_) {
      numbers_[router] = sizes[fabric_of(leaf)]++;
    }
    for (const auto& [fabric, size] : sizes) count_ = std::max(count_, size);
  }

  std::map<RouterAddress, std::uint32_t> leaf_of_router_;  // the first that has met it
  std::map<std::uint32_t, std::uint32_t> parent_;          // of leaves: another of the same fabric
  std::map<RouterAddress, std::uint32_t> numbers_;
  std::uint32_t count_ = 0;  // of the largest fabric
};

// [leaf] its pod: leaves that share routers, numbered from 0.
std::vector<std::uint32_t> pods(std::span<const RouterRecord> records) {
  const RouteNumbers numbers(records);
  std::map<std::uint32_t, std::uint32_t> pod_of_fabric;
  std::vector<std::uint32_t> pod_of;
  for (const std::uint32_t leaf : leaves(records)) {
    if (leaf == schedule::kNoLeaf || leaf < pod_of.size()) continue;
    const auto next = static_cast<std::uint32_t>(pod_of_fabric.size());
    pod_of.push_back(pod_of_fabric.emplace(numbers.fabric_of(leaf), next).first->second);
  }
  return pod_of;
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

schedule::EqualRoutes equal(const FoundRoutes& routes) {
  return {routes.leaf_of, routes.count / routes.tops, routes.tops, routes.pod_of};
}

}  // namespace

bool assigns_paths(const base::Options& options, const FoundRoutes& routes) {
  const bool plans =
      options.path_policy == "assigned" || (options.path_policy == "auto" && !routes.deeper);
  return plans && routes.known() && routes.leaf_of.size() <= schedule::kAssignedMembersMax;
}

bool has_several_leaves(std::span<const RouterRecord> records) {
  const auto leaf_of = leaves(records);
  return std::any_of(leaf_of.begin(), leaf_of.end(),
                     [](std::uint32_t leaf) { return leaf != schedule::kNoLeaf && leaf > 0; });
}

bool has_one_way(std::span<const RouterRecord> records) {
  return RouteNumbers(records).count() == 1 && !any_deeper(records);
}

std::uint32_t routes_in(std::span<const RouterRecord> records) {
  const std::uint32_t count = RouteNumbers(records).count();
  return count < 2 || count > kRoutesMax ? 0 : count;
}

std::uint8_t FoundRoutes::path_by(std::uint32_t host, std::uint8_t route) const {
  const auto& routes = route_of[host];
  if (route == schedule::kNoRoute) return 0;
  if (routes.empty()) return base::Rounds::kAnyPath;  // it has not answered
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
  // Each asks others, because hosts answer few questions a second, too.
  for (std::size_t i = 1; i < addresses.size(); i += stride) {
    const std::size_t host = (self + i) % addresses.size();
    if (addresses[host].empty()) continue;
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
  const std::size_t sockets = addresses[self].size();
  // One five-tuple to each host before the next: what all hosts show is soon known. Neighbours ask
  // different hosts first.
  for (std::size_t tuple = 0; tuple < sockets * sockets; ++tuple) {
    for (std::size_t i = 1; i < addresses.size(); ++i) {
      const std::size_t host = (self + i) % addresses.size();
      if (leaf_of[self] == schedule::kNoLeaf || leaf_of[host] == schedule::kNoLeaf) continue;
      if (leaf_of[host] == leaf_of[self] || addresses[host].size() != sockets) continue;
      const auto way = io::tuple_of(static_cast<std::uint8_t>(tuple), sockets);
      questions.push_back(
          {way.socket, addresses[host][way.port], 2, static_cast<std::uint32_t>(host)});
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

std::vector<io::HopQuestion> deeper_questions(std::span<const io::HopQuestion> questions,
                                              std::span<const io::Address> routers) {
  // By host and router: the questions that have been answered alike.
  std::map<std::pair<std::uint32_t, RouterAddress>, std::vector<io::HopQuestion>> alike;
  for (std::size_t i = 0; i < questions.size(); ++i) {
    if (routers[i].length == 0) continue;
    alike[{questions[i].host, bytes_of(routers[i])}].push_back(questions[i]);
  }
  const auto most = std::max_element(alike.begin(), alike.end(), [](const auto& a, const auto& b) {
    return a.second.size() < b.second.size();
  });
  if (most == alike.end()) return {};
  std::vector<io::HopQuestion> deeper = most->second;
  deeper.resize(std::min(deeper.size(), kDeeperQuestions));
  for (io::HopQuestion& question : deeper) ++question.hops;
  return deeper;
}

void note_deeper(RouterRecord& record, std::span<const io::Address> routers,
                 std::span<const io::Address> before) {
  const io::Address* first = nullptr;
  for (const io::Address& router : routers) {
    if (router.length == 0) continue;
    if (std::find(before.begin(), before.end(), router) != before.end()) continue;
    if (first == nullptr) first = &router;
    if (!(router == *first)) record.deeper = 1;
  }
}

bool any_deeper(std::span<const RouterRecord> records) {
  return std::any_of(records.begin(), records.end(),
                     [](const RouterRecord& record) { return record.deeper != 0; });
}

std::vector<std::size_t> questions_to_pods(std::span<const RouterRecord> records,
                                           std::uint32_t self,
                                           std::span<const io::HopQuestion> questions) {
  const auto leaf_of = leaves(records);
  const auto pod_of = pods(records);
  std::vector<std::size_t> which;
  for (std::size_t i = 0; i < questions.size(); ++i) {
    if (pod_of[leaf_of[questions[i].host]] != pod_of[leaf_of[self]]) which.push_back(i);
  }
  return which;
}

std::vector<io::HopQuestion> further_questions(std::span<const io::HopQuestion> questions,
                                               std::span<const std::size_t> which,
                                               std::uint8_t further) {
  std::vector<io::HopQuestion> all;
  for (const std::size_t i : which) {
    all.push_back(questions[i]);
    all.back().hops = static_cast<std::uint8_t>(all.back().hops + further);
  }
  return all;
}

TopRecord top_record(std::span<const io::HopQuestion> questions,
                     std::span<const io::Address> routers, std::span<const io::Address> tops) {
  TopRecord record;
  std::map<std::pair<RouterAddress, RouterAddress>, bool> ways;
  // Towards a host from which leaves cannot be told apart from tops, every middle router has one.
  struct Seen {
    std::size_t answers = 0;
    std::map<RouterAddress, RouterAddress> first;  // by middle router
    bool parts = false;
  };
  std::map<std::uint32_t, Seen> by_host;
  for (std::size_t i = 0; i < questions.size(); ++i) {
    if (routers[i].length == 0 || tops[i].length == 0) continue;
    const auto middle = bytes_of(routers[i]), top = bytes_of(tops[i]);
    ways.emplace(std::pair(middle, top), true);
    Seen& seen = by_host[questions[i].host];
    ++seen.answers;
    seen.parts = seen.parts || seen.first.emplace(middle, top).first->second != top;
  }
  if (ways.size() > kRoutesMax) record.deeper = 1;
  for (const auto& [way, seen] : ways) {
    if (record.count == kRoutesMax) break;
    record.middle[record.count] = way.first;
    record.top[record.count++] = way.second;
  }
  const bool parts =
      std::any_of(by_host.begin(), by_host.end(), [](const auto& one) { return one.second.parts; });
  for (const auto& [host, seen] : by_host) {
    if (parts && !seen.parts && seen.answers >= kOneWay + seen.first.size()) record.deeper = 1;
  }
  return record;
}

std::uint32_t tops_in(std::span<const RouterRecord> records, std::span<const TopRecord> tops) {
  if (std::any_of(tops.begin(), tops.end(),
                  [](const TopRecord& record) { return record.deeper != 0; })) {
    return 0;
  }
  const std::uint32_t each = RouteNumbers(tops).count();
  return each * routes_in(records) > kRoutesMax ? 0 : each;
}

FoundRoutes find_routes(std::span<const RouterRecord> records,
                        std::span<const TopRecord> top_records, std::uint32_t self,
                        std::uint32_t paths, const RouteAnswers& answers, HostAddresses addresses) {
  FoundRoutes routes;
  const RouteNumbers numbers(records), tops(top_records);
  const std::uint32_t middles = routes_in(records);
  if (middles == 0) return routes;
  routes.leaf_of = leaves(records);
  if (top_records.empty()) {
    routes.deeper = any_deeper(records);
  } else {
    routes.tops = tops_in(records, top_records);
    routes.pod_of = pods(records);
  }
  routes.count = middles * routes.tops;
  routes.routers.resize(routes.count);
  std::vector<std::vector<io::Tuples>> by_route(addresses.size(),
                                                std::vector<io::Tuples>(routes.count));
  for (std::size_t i = 0; i < answers.questions.size(); ++i) {
    const io::HopQuestion& question = answers.questions[i];
    const auto middle = numbers.of(bytes_of(answers.routers[i]));
    if (answers.routers[i].length == 0 || !middle) continue;
    std::uint32_t route = *middle * routes.tops;
    std::string router = io::to_numeric_string(answers.routers[i]);
    if (!top_records.empty() &&
        routes.pod_of[routes.leaf_of[question.host]] != routes.pod_of[routes.leaf_of[self]]) {
      const auto top = tops.of(bytes_of(answers.tops[i]));
      if (answers.tops[i].length == 0 || !top) continue;
      route += *top;
      router += "/" + io::to_numeric_string(answers.tops[i]);
    }
    const auto& ports = addresses[question.host];
    const auto port = std::find(ports.begin(), ports.end(), question.to) - ports.begin();
    // What passes a top says more than what stays in the pod.
    if (routes.routers[route].size() < router.size()) routes.routers[route] = router;
    by_route[question.host][route].push_back({question.socket, static_cast<std::uint8_t>(port)});
  }
  routes.tuples.resize(addresses.size());
  routes.route_of.resize(addresses.size());
  for (std::uint32_t to = 0; to < addresses.size(); ++to) {
    // Hosts below a leaf begin with different ones: what follows no plan takes path 0.
    number_paths(by_route[to], paths, self, routes.tuples[to], routes.route_of[to]);
  }
  return routes;
}

std::vector<std::uint8_t> assigned_paths(const FoundRoutes& routes, std::uint32_t self,
                                         std::span<const std::vector<base::PeerId>> sends) {
  const auto route = schedule::assign_routes(equal(routes), sends);
  std::vector<std::uint8_t> paths;
  for (const base::PeerId to : sends[self]) {
    paths.push_back(routes.path_by(to, route[self * routes.leaf_of.size() + to]));
  }
  return paths;
}

std::vector<std::uint8_t> assigned_paths(const FoundRoutes& routes, std::uint32_t self,
                                         std::span<const std::uint64_t> bytes,
                                         std::span<const base::PeerId> send) {
  const auto route = schedule::assign_routes_to_blocks(equal(routes), bytes);
  std::vector<std::uint8_t> paths;
  for (const base::PeerId to : send) {
    paths.push_back(routes.path_by(to, route[self * routes.leaf_of.size() + to]));
  }
  return paths;
}

}  // namespace alm::meeting

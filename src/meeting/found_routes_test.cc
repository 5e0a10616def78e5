#include "meeting/found_routes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "schedule/assigned_routes.h"

namespace alm::meeting {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::uint32_t kHosts = 4, kSockets = 4, kSpines = 4;

io::Address address(const std::string& numeric, std::uint16_t port = 0) {
  return io::make_address(numeric, port).value();
}

// Four hosts, two below each of two leaves, four spines that are chosen by a hash of the ports.
class Fabric {
 public:
  // `numbered`: routers answer by the address of the link that the question came by.
  explicit Fabric(bool numbered = false) : numbered_(numbered) {
    for (std::uint32_t host = 0; host < kHosts; ++host) {
      auto& ports = addresses.emplace_back();
      for (std::uint32_t port = 0; port < kSockets; ++port) {
        ports.push_back(address("198.18.0." + std::to_string(host + 1),
                                static_cast<std::uint16_t>(40000 + 7 * port + host)));
      }
    }
  }

  io::Address spine(std::uint32_t number, std::uint32_t leaf) const {
    return address("198.19." + std::to_string(numbered_ ? 1 + leaf : 0) + "." +
                   std::to_string(10 + number));
  }
  std::uint32_t route(std::uint32_t from, const io::HopQuestion& question) const {
    return (from + question.socket * 5u + io::port_of(question.to)) % kSpines;
  }
  std::vector<io::Address> answers(std::uint32_t from,
                                   const std::vector<io::HopQuestion>& questions) const {
    std::vector<io::Address> routers;
    for (const auto& question : questions) {
      routers.push_back(question.hops == 1 ? address("198.19.0." + std::to_string(1 + from / 2))
                                           : spine(route(from, question), from / 2));
    }
    return routers;
  }
  std::vector<RouterRecord> records() const {
    std::vector<RouterRecord> all;
    for (std::uint32_t host = 0; host < kHosts; ++host) {
      all.push_back(leaf_record(answers(host, leaf_questions(addresses, host))));
    }
    const auto leaves = all;
    for (std::uint32_t host = 0; host < kHosts; ++host) {
      add_routers(all[host], answers(host, route_questions(addresses, host, leaves)));
    }
    return all;
  }
  FoundRoutes find(std::uint32_t self, std::uint32_t paths) const {
    const auto all = records();
    const auto questions = route_questions(addresses, self, all);
    const auto routers = answers(self, questions);
    return find_routes(all, {}, self, paths, {questions, routers}, addresses);
  }

  std::vector<std::vector<io::Address>> addresses;

 private:
  bool numbered_;
};

TEST(FoundRoutes, OneHostOfAnotherLeafIsAskedForByEveryFiveTuple) {
  const Fabric fabric;
  const auto questions = route_questions(fabric.addresses, 0, fabric.records());
  EXPECT_THAT(questions, SizeIs(2 * kSockets * kSockets));
  for (const auto& question : questions) {
    EXPECT_EQ(question.hops, 2);
    EXPECT_THAT(io::to_numeric_string(question.to), ::testing::AnyOf("198.18.0.3", "198.18.0.4"));
  }
}

TEST(FoundRoutes, FourPathsTakeFourRoutes) {
  const Fabric fabric;
  for (std::uint32_t self = 0; self < kHosts; ++self) {
    const auto routes = fabric.find(self, 4);
    ASSERT_EQ(routes.count, kSpines);
    for (std::uint32_t to = 0; to < kHosts; ++to) {
      if (to / 2 == self / 2) {
        EXPECT_THAT(routes.tuples[to], IsEmpty());
        continue;
      }
      std::set<std::uint32_t> met;
      for (std::uint32_t path = 0; path < 4; ++path) {
        const io::Tuple tuple = routes.tuples[to][path];
        const std::uint32_t route =
            fabric.route(self, {tuple.socket, fabric.addresses[to][tuple.port], 2});
        EXPECT_EQ(route, routes.route_of[to][path]);
        EXPECT_EQ(routes.path_by(to, static_cast<std::uint8_t>(route)), path);
        met.insert(route);
      }
      EXPECT_THAT(met, SizeIs(kSpines));
    }
  }
}

TEST(FoundRoutes, RoutersThatAnswerByTheirLinksAreNumberedLeafByLeaf) {
  const Fabric fabric(true);
  EXPECT_EQ(routes_in(fabric.records()), kSpines);
  for (std::uint32_t self = 0; self < kHosts; ++self) {
    const auto routes = fabric.find(self, 4);
    ASSERT_EQ(routes.count, kSpines);
    const std::uint32_t to = (self + 2) % kHosts;
    for (std::uint32_t path = 0; path < 4; ++path) {
      const io::Tuple tuple = routes.tuples[to][path];
      EXPECT_EQ(fabric.route(self, {tuple.socket, fabric.addresses[to][tuple.port], 2}),
                routes.route_of[to][path]);
    }
  }
}

TEST(FoundRoutes, OneRouterIsOneWayUnlessSomethingPartsBehindIt) {
  const auto up = [](const std::string& leaf, std::uint32_t routers) {
    RouterRecord made = leaf_record(std::vector{address(leaf)});
    std::vector<io::Address> next;
    for (std::uint32_t i = 0; i < routers; ++i)
      next.push_back(address("10.1.0." + std::to_string(i + 1)));
    add_routers(made, next);
    return made;
  };
  std::vector<RouterRecord> one = {up("10.0.0.1", 1), up("10.0.0.2", 1)};
  EXPECT_TRUE(has_one_way(one));
  one.front().deeper = 1;
  EXPECT_FALSE(has_one_way(one));
  EXPECT_FALSE(has_one_way(std::vector{up("10.0.0.1", 0), up("10.0.0.2", 0)}));
  // More routers than routes that can be told apart.
  const std::vector<RouterRecord> wide = {up("10.0.0.1", kRoutesMax + 1),
                                          up("10.0.0.2", kRoutesMax + 1)};
  EXPECT_FALSE(has_one_way(wide));
}

TEST(FoundRoutes, LeavesThatShareARouterAreOneFabric) {
  const auto record = [](const std::string& leaf, const std::vector<std::string>& next) {
    RouterRecord made = leaf_record(std::vector{address(leaf)});
    std::vector<io::Address> routers;
    for (const std::string& one : next) routers.push_back(address(one));
    add_routers(made, routers);
    return made;
  };
  const std::vector<RouterRecord> chain = {record("10.0.0.1", {"10.1.0.1", "10.1.0.2"}),
                                           record("10.0.0.2", {"10.1.0.3", "10.1.0.4"}),
                                           record("10.0.0.3", {"10.1.0.2", "10.1.0.3"})};
  EXPECT_EQ(routes_in(chain), 4u);
  EXPECT_EQ(routes_in(std::span(chain).first(2)), 2u);
  EXPECT_TRUE(has_several_leaves(chain));
  EXPECT_FALSE(has_several_leaves(std::span(chain).first(1)));
  const std::vector<RouterRecord> one_way = {record("10.0.0.1", {"10.1.0.1"}),
                                             record("10.0.0.2", {"10.1.0.1"})};
  EXPECT_EQ(routes_in(one_way), 0u);
}

TEST(FoundRoutes, FiveTuplesOfOneRouteThatPartFurtherUpAreNoticed) {
  const Fabric fabric;
  const auto questions = route_questions(fabric.addresses, 0, fabric.records());
  const auto routers = fabric.answers(0, questions);
  const auto deeper = deeper_questions(questions, routers);
  ASSERT_GE(deeper.size(), 4u);
  std::set<std::uint32_t> met;
  for (const auto& question : deeper) {
    EXPECT_EQ(question.hops, 3);
    EXPECT_EQ(question.host, deeper.front().host);
    met.insert(fabric.route(0, question));
  }
  EXPECT_THAT(met, SizeIs(1));
  std::vector<io::Address> answers(deeper.size(), address("198.19.0.2"));
  RouterRecord record;
  answers[1] = io::Address{};    // nobody has answered
  answers[2] = routers.front();  // a late copy of an answer to the question before
  note_deeper(record, answers, routers);
  EXPECT_EQ(record.deeper, 0);
  answers[3] = address("198.19.0.3");
  note_deeper(record, answers, routers);
  EXPECT_EQ(record.deeper, 1);
  const auto options = base::load_options({}).value();
  FoundRoutes routes = fabric.find(0, 4);
  EXPECT_TRUE(assigns_paths(options, routes));
  routes.deeper = true;
  EXPECT_FALSE(assigns_paths(options, routes));
}

TEST(FoundRoutes, ATextNamesTheRoutersByPathNumber) {
  FoundRoutes routes;
  routes.count = 2;
  routes.routers = {"10.0.0.1", "10.0.0.2"};
  routes.route_of = {{}, {1, 0}, {0, 1}};
  const std::vector<std::string> hosts{"a", "b", "c"};
  EXPECT_EQ(routes.text(hosts), "b 10.0.0.2 10.0.0.1, c 10.0.0.1 10.0.0.2");
  const auto found = Fabric().find(0, 4);
  EXPECT_EQ(found.routers.size(), found.count);
  EXPECT_THAT(found.routers, testing::Each(testing::Not(IsEmpty())));
}

TEST(FoundRoutes, MorePathsThanRoutesTakeOtherFiveTuples) {
  const auto routes = Fabric().find(0, 8);
  std::set<std::pair<int, int>> tuples;
  for (const io::Tuple tuple : routes.tuples[2]) tuples.emplace(tuple.socket, tuple.port);
  EXPECT_THAT(tuples, SizeIs(8));
}

TEST(FoundRoutes, WithFewerPathsThanRoutesHostsOfALeafTakeDifferentOnes) {
  const Fabric fabric;
  for (const std::uint32_t to : {2u, 3u}) {
    std::set<std::uint8_t> met;
    for (const std::uint32_t self : {0u, 1u}) {
      const auto routes = fabric.find(self, 1);
      ASSERT_THAT(routes.route_of[to], SizeIs(1));
      met.insert(routes.route_of[to].front());
    }
    EXPECT_THAT(met, SizeIs(2));
  }
}

TEST(FoundRoutes, WithoutAnAnswerNothingIsKnown) {
  const Fabric fabric;
  const std::vector<RouterRecord> silent(kHosts);
  EXPECT_THAT(route_questions(fabric.addresses, 0, silent), IsEmpty());
  EXPECT_FALSE(find_routes(silent, {}, 0, 4, {}, fabric.addresses).known());
}

// One answer was lost: that five-tuple is not used, the others are.
TEST(FoundRoutes, AnAnswerThatIsMissingCostsOneFiveTuple) {
  const Fabric fabric;
  const auto records = fabric.records();
  const auto questions = route_questions(fabric.addresses, 0, records);
  auto routers = fabric.answers(0, questions);
  routers[3] = io::Address{};
  const auto routes = find_routes(records, {}, 0, 16, {questions, routers}, fabric.addresses);
  for (const io::Tuple tuple : routes.tuples[2]) {
    EXPECT_FALSE(tuple.socket == questions[3].socket &&
                 fabric.addresses[2][tuple.port] == questions[3].to);
  }
  EXPECT_THAT(routes.tuples[2], SizeIs(16));
}

// Pods of leaves below middle routers, and tops behind each of these, as fat trees have them.
// Leaves and middle routers choose by hashes of their own. `tangled`: each top joins all middle
// routers, so that what comes down has a choice as well.
struct Shape {
  std::uint32_t pods, leaves, hosts, middles, tops;
  bool tangled = false;
};

class DeepFabric {
 public:
  static constexpr std::uint32_t kTuplesEachWay = 6;

  DeepFabric(const Shape& shape, std::uint64_t seed) : shape_(shape), seed_(seed) {
    for (std::uint32_t host = 0; host < count(); ++host) {
      auto& ports = addresses.emplace_back();
      for (std::uint32_t port = 0; port < kTuplesEachWay; ++port) {
        ports.push_back(address("198.18.0." + std::to_string(host + 1),
                                static_cast<std::uint16_t>(40000 + 7 * port + host)));
      }
    }
  }

  std::uint32_t count() const { return shape_.pods * shape_.leaves * shape_.hosts; }
  std::uint32_t leaf(std::uint32_t host) const { return host / shape_.hosts; }
  std::uint32_t pod(std::uint32_t host) const { return leaf(host) / shape_.leaves; }
  std::uint32_t middle(std::uint32_t from, const io::HopQuestion& question) const {
    return hash(from, question, 1) % shape_.middles;
  }
  std::uint32_t top(std::uint32_t from, const io::HopQuestion& question) const {
    return hash(from, question, 2) % shape_.tops;
  }
  io::Address answer(std::uint32_t from, const io::HopQuestion& question) const {
    const auto router = [](std::uint32_t level, std::uint32_t pod, std::uint32_t number) {
      return address("10." + std::to_string(level) + "." + std::to_string(pod) + "." +
                     std::to_string(number + 1));
    };
    const bool away = pod(from) != pod(question.host);
    const std::uint32_t up = middle(from, question);
    switch (question.hops) {
      case 1:
        return router(1, 0, leaf(from));
      case 2:
        return router(2, pod(from), up);
      case 3:
        if (!away) return router(1, 0, leaf(question.host));
        return router(3, 0, (shape_.tangled ? 0 : up * shape_.tops) + top(from, question));
      default:
        if (!away) return {};
        return router(2, pod(question.host),
                      shape_.tangled ? hash(from, question, 3) % shape_.middles : up);
    }
  }
  std::vector<io::Address> answers(std::uint32_t from,
                                   const std::vector<io::HopQuestion>& asked) const {
    std::vector<io::Address> all;
    for (const auto& question : asked) all.push_back(answer(from, question));
    return all;
  }

  // As communicator/bring_up_routes.cc asks, each host about everything.
  void ask() {
    for (std::uint32_t host = 0; host < count(); ++host) {
      records.push_back(leaf_record(answers(host, leaf_questions(addresses, host))));
    }
    const auto leaves = records;
    for (std::uint32_t host = 0; host < count(); ++host) {
      questions.push_back(route_questions(addresses, host, leaves));
      routers.push_back(answers(host, questions[host]));
      add_routers(records[host], routers[host]);
      const auto deeper = deeper_questions(questions[host], routers[host]);
      note_deeper(records[host], answers(host, deeper), routers[host]);
    }
    if (!any_deeper(records)) return;
    for (std::uint32_t host = 0; host < count(); ++host) {
      const auto which = questions_to_pods(records, host, questions[host]);
      const auto further = further_questions(questions[host], which, 1);
      const auto found = answers(host, further);
      auto& all = tops.emplace_back(questions[host].size());
      for (std::size_t k = 0; k < which.size(); ++k) all[which[k]] = found[k];
      top_records.push_back(top_record(questions[host], routers[host], all));
      RouterRecord beyond;
      note_deeper(beyond, answers(host, deeper_questions(further, found)), found);
      top_records.back().deeper |= beyond.deeper;
    }
  }
  FoundRoutes find(std::uint32_t self, std::uint32_t paths) const {
    RouteAnswers told{questions[self], routers[self]};
    if (!tops.empty()) told.tops = tops[self];
    return find_routes(records, top_records, self, paths, told, addresses);
  }

  std::vector<std::vector<io::Address>> addresses;
  std::vector<RouterRecord> records;
  std::vector<TopRecord> top_records;
  std::vector<std::vector<io::HopQuestion>> questions;
  std::vector<std::vector<io::Address>> routers, tops;

 private:
  std::uint32_t hash(std::uint32_t from, const io::HopQuestion& question, std::uint64_t by) const {
    std::uint64_t word = seed_ * 31 + by;
    for (const std::uint64_t part :
         {std::uint64_t{from}, std::uint64_t{question.socket},
          std::uint64_t{io::port_of(question.to)}, std::uint64_t{question.host}}) {
      word = (word ^ part) * 0x9e3779b97f4a7c15u;
      word ^= word >> 29;
    }
    return static_cast<std::uint32_t>(word >> 16);
  }

  Shape shape_;
  std::uint64_t seed_;
};

// Every way that some five-tuple takes is found, and a number means the same routers to all.
TEST(FoundRoutes, AllWaysOfGeneratedFatTreesAreFound) {
  for (const Shape& shape : {Shape{2, 2, 2, 2, 2}, Shape{4, 2, 1, 2, 2}, Shape{3, 3, 1, 3, 3},
                             Shape{2, 4, 1, 4, 2}, Shape{5, 1, 2, 2, 4}, Shape{2, 2, 2, 4, 4}}) {
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      DeepFabric fabric(shape, seed);
      fabric.ask();
      ASSERT_EQ(tops_in(fabric.records, fabric.top_records), shape.tops);
      const std::uint32_t ways = shape.middles * shape.tops;
      for (std::uint32_t self = 0; self < fabric.count(); ++self) {
        const FoundRoutes routes = fabric.find(self, ways);
        ASSERT_EQ(routes.count, ways);
        EXPECT_FALSE(routes.deeper);
        std::vector<std::set<std::uint32_t>> taken(fabric.count());
        for (const auto& question : fabric.questions[self]) {
          const bool away = fabric.pod(self) != fabric.pod(question.host);
          taken[question.host].insert(fabric.middle(self, question) * shape.tops +
                                      (away ? fabric.top(self, question) : 0));
        }
        std::set<std::uint32_t> disjoint;  // by the routers next to the leaf
        for (std::uint32_t to = 0; to < fabric.count(); ++to) {
          std::set<std::uint32_t> found;
          for (std::size_t path = 0; path < routes.tuples[to].size(); ++path) {
            const io::Tuple tuple = routes.tuples[to][path];
            const io::HopQuestion question{tuple.socket, fabric.addresses[to][tuple.port], 2, to};
            const bool away = fabric.pod(self) != fabric.pod(to);
            const std::uint32_t way = fabric.middle(self, question) * shape.tops +
                                      (away ? fabric.top(self, question) : 0);
            EXPECT_EQ(way, routes.route_of[to][path]);
            found.insert(way);
            disjoint.insert(way / shape.tops);
          }
          EXPECT_EQ(found, taken[to]);
        }
        EXPECT_THAT(disjoint, SizeIs(shape.middles));
      }
    }
  }
}

TEST(FoundRoutes, TwoLevelsAreNotAskedAboutTops) {
  DeepFabric fabric({1, 4, 2, 4, 1}, 3);
  fabric.ask();
  EXPECT_THAT(fabric.top_records, IsEmpty());
  const FoundRoutes routes = fabric.find(0, 4);
  EXPECT_EQ(routes.count, 4U);
  EXPECT_EQ(routes.tops, 1U);
  EXPECT_THAT(routes.pod_of, IsEmpty());
}

TEST(FoundRoutes, WhatPartsBehindTheTopsIsNotKnown) {
  DeepFabric fabric({3, 2, 2, 2, 2, true}, 1);
  fabric.ask();
  EXPECT_EQ(tops_in(fabric.records, fabric.top_records), 0U);
}

TEST(FoundRoutes, MoreRoutesThanPathNumbersAreNotKnown) {
  DeepFabric fabric({2, 2, 3, 6, 6}, 1);
  fabric.ask();
  EXPECT_EQ(tops_in(fabric.records, fabric.top_records), 0U);
}

// Where routers answer by their links, a leaf of the own pod may look as a top.
TEST(FoundRoutes, AHostToWhichNothingPartsIsOfTheSamePod) {
  std::vector<io::HopQuestion> questions;
  std::vector<io::Address> routers, tops;
  for (std::uint8_t k = 0; k < 12; ++k) {
    for (const std::uint32_t host : {1u, 2u}) {
      questions.push_back({k, address("198.18.0.9", 40000), 2, host});
      routers.push_back(address("10.2.0." + std::to_string(1 + k % 2)));
      tops.push_back(address(host == 1 ? "10.1.0.9" : "10.3.0." + std::to_string(1 + k % 4)));
    }
  }
  EXPECT_EQ(top_record(questions, routers, tops).deeper, 1);
  for (std::size_t i = 0; i < questions.size(); ++i) questions[i].host = 2;
  EXPECT_EQ(top_record(questions, routers, tops).deeper, 0);
}

// Three levels: each link, also above the middle routers, carries one block.
TEST(FoundRoutes, APermutationBetweenPodsIsAssignedLinksOfItsOwn) {
  DeepFabric fabric({4, 2, 2, 2, 2}, 7);
  fabric.ask();
  const std::uint32_t hosts = fabric.count();
  std::vector<std::uint64_t> bytes(std::size_t{hosts} * hosts, 0);
  for (std::uint32_t i = 0; i < hosts; ++i) bytes[i * hosts + (i + 5) % hosts] = 1000;
  std::set<std::pair<std::uint32_t, std::uint32_t>> used;  // pod, route
  std::size_t away = 0;
  for (std::uint32_t self = 0; self < hosts; ++self) {
    const auto routes = fabric.find(self, 4);
    const std::uint32_t to = (self + 5) % hosts;
    const auto paths = assigned_paths(routes, self, bytes, std::vector<base::PeerId>{to});
    if (fabric.pod(self) == fabric.pod(to)) continue;
    ++away;
    used.emplace(fabric.pod(self), routes.route_of[to][paths[0]]);
  }
  EXPECT_EQ(used.size(), away);
}

TEST(FoundRoutes, APermutationIsAssignedARouteEach) {
  const Fabric fabric;
  std::vector<std::uint64_t> bytes(kHosts * kHosts, 0);
  for (std::uint32_t i = 0; i < kHosts; ++i) bytes[i * kHosts + (i + 2) % kHosts] = 1000;
  std::set<std::uint8_t> routes_up;
  for (const std::uint32_t self : {0u, 1u}) {
    const auto routes = fabric.find(self, 4);
    const std::vector<base::PeerId> send = {self + 2};
    const auto paths = assigned_paths(routes, self, bytes, send);
    ASSERT_THAT(paths, SizeIs(1));
    routes_up.insert(routes.route_of[self + 2][paths[0]]);
  }
  EXPECT_THAT(routes_up, SizeIs(2));
}

}  // namespace
}  // namespace alm::meeting

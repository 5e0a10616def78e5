#include "carrier/uneven_steps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>

#include "carrier/loopback_test_members.h"
#include "plan/plan.h"
#include "plan/tune.h"

namespace alm::carrier {
namespace {

constexpr std::uint32_t kMembers = 4;
constexpr std::uint32_t kUnsharedWindow = 40;

topology::Cluster star() {
  return topology::parse_cluster(R"(format = 1
name = "star"
[[switch]]
name = "s"
[[host]]
name = "h[0-3]"
[[link]]
from = "h[0-3]"
to = "s"
rate_mbit_s = 10000
queue_down_packets = 100
)",
                                 "star")
      .value();
}

plan::Plan plan_of(std::uint32_t self) {
  return plan::make_plan({.ranks = kMembers, .self = {self}}).value();
}

// As for `auto`: one that knows no sites, and then those that do.
std::vector<plan::Plan> plans_between(std::uint32_t self, const std::vector<std::uint32_t>& sites) {
  std::vector<plan::Plan> plans;
  for (const auto algorithm :
       {plan::Algorithm::kGrid, plan::Algorithm::kMultiSite, plan::Algorithm::kCoordinator}) {
    plan::Request request;
    request.ranks = kMembers;
    request.self = {self};
    request.algorithm = algorithm;
    if (algorithm == plan::Algorithm::kGrid) request.shape = {2, 2};
    request.site_of = sites;
    plans.push_back(plan::make_plan(request).value());
  }
  return plans;
}

using Matrix = std::vector<std::uint64_t>;  // [from * kMembers + to]

// Four members in this process, each on a thread of its own while they exchange.
class UnevenStepsTest : public testing::Test {
 protected:
  using PlanSets = std::vector<std::vector<std::uint16_t>>;  // [phase][member]

  // `sites`: of each member; empty: all at one.
  explicit UnevenStepsTest(const std::vector<std::uint32_t>& sites = {})
      : cluster_(star()), hosts_{{0}, {1}, {2}, {3}}, tuning_(plan::tune(cluster_, hosts_)) {
    std::vector<PlanSets> of_plans;
    if (!sites.empty()) {
      for (const plan::Plan& plan : plans_between(0, sites)) {
        for (auto& of_phase : of_plans.emplace_back(plan.phases.size())) {
          for (const auto& driver : loopback_.drivers) of_phase.push_back(driver->reserve_set());
        }
      }
    }
    for (std::uint32_t i = 0; i < kMembers; ++i) {
      std::vector<plan::Plan> plans;
      if (!sites.empty()) plans = plans_between(i, sites);
      groups_.push_back(std::make_unique<UdpGroup>(*loopback_.drivers[i], loopback_.peers_of(i),
                                                   plan_of(i), std::move(plans), of_plans,
                                                   UdpGroup::Shared{}, UdpGroup::Hooks{[] {}, {}}));
      members_.push_back(std::make_unique<UnevenSteps>(
          *groups_[i], UnevenSteps::Network{&cluster_, tuning_.packet_time_us, hosts_, nullptr,
                                            kUnsharedWindow}));
    }
  }

  // What each member has agreed on for an exchange of these bytes: how many take steps.
  std::uint32_t prepare(const Matrix& bytes, const UnevenSteps::WantsSteps& wants_steps = {}) {
    loopback_.on_all([&](std::uint32_t self) {
      std::vector<std::uint64_t> send(kMembers), recv(kMembers);
      for (std::uint32_t peer = 0; peer < kMembers; ++peer) {
        send[peer] = bytes[self * kMembers + peer];
        recv[peer] = bytes[peer * kMembers + self];
      }
      EXPECT_TRUE(members_[self]->prepare(send, recv, wants_steps).ok());
    });
    std::uint32_t planned = 0;
    for (const auto& one : members_) planned += one->planned() ? 1 : 0;
    return planned;
  }
  // One exchange of these bytes; whether everything came as it was sent.
  bool exchange(const Matrix& bytes) {
    std::array<bool, kMembers> right{};
    loopback_.on_all([&](std::uint32_t self) { right[self] = exchange_of(self, bytes); });
    return std::count(right.begin(), right.end(), true) == kMembers;
  }
  bool exchange_of(std::uint32_t self, const Matrix& bytes) {
    std::vector<std::uint64_t> send_size, recv_size, send_at, recv_at;
    std::vector<std::byte> send, expected;
    for (std::uint32_t peer = 0; peer < kMembers; ++peer) {
      send_size.push_back(bytes[self * kMembers + peer]);
      recv_size.push_back(bytes[peer * kMembers + self]);
      send_at.push_back(send.size());
      recv_at.push_back(expected.size());
      send.insert(send.end(), send_size.back(), std::byte(10 * self + peer));
      // A member's own block is left alone.
      expected.insert(expected.end(), recv_size.back(),
                      peer == self ? std::byte{} : std::byte(10 * peer + self));
    }
    std::vector<std::byte> recv(expected.size());
    transport::Exchange exchange;
    exchange.send = {send.data(), 0, 0, send_at, send_size};
    exchange.recv = {recv.data(), 0, 0, recv_at, recv_size};
    return members_[self]->run(exchange).ok() && recv == expected;
  }
  // Outside the phases of other plans.
  std::uint64_t sent_plain(std::uint32_t self) const {
    return loopback_.drivers[self]->counters(loopback_.sets[self]).data_sent;
  }
  std::uint64_t sent() const { return groups_[0]->counters().data_sent; }

  topology::Cluster cluster_;
  std::vector<base::HostId> hosts_;
  plan::Tuning tuning_;
  LoopbackMembers loopback_{kMembers};
  std::vector<std::unique_ptr<UdpGroup>> groups_;
  std::vector<std::unique_ptr<UnevenSteps>> members_;
};

Matrix even(std::uint64_t bytes) { return Matrix(kMembers * kMembers, bytes); }

Matrix hot(std::uint64_t bytes) {
  Matrix matrix = even(bytes);
  for (std::uint32_t from = 0; from < kMembers; ++from) matrix[from * kMembers + 2] *= 8;
  return matrix;
}

TEST_F(UnevenStepsTest, StepsAreMadeOnceForCountsThatStay) {
  EXPECT_EQ(prepare(hot(200'000)), kMembers);
  EXPECT_EQ(members_[0]->load(), 3u * 8 * 200'000);
  const auto after_first = sent();
  EXPECT_EQ(prepare(hot(200'000)), kMembers);
  EXPECT_EQ(sent() - after_first, kMembers - 1) << "one word to each";
  const auto rounds = members_[1]->rounds();
  EXPECT_GT(rounds.steps, 3u * 8 * 200'000 / 1448);
  EXPECT_FALSE(rounds.trains.empty());
}

TEST_F(UnevenStepsTest, ChangedCountsGetNewSteps) {
  EXPECT_EQ(prepare(hot(200'000)), kMembers);
  const auto steps = members_[0]->rounds().steps;
  EXPECT_EQ(prepare(hot(400'000)), kMembers);
  EXPECT_GT(members_[0]->rounds().steps, steps);
}

TEST_F(UnevenStepsTest, WithoutAClusterFilePathsAreMadeFromCounts) {
  for (std::uint32_t self = 0; self < kMembers; ++self) {
    UnevenSteps::Network network;
    network.paths = [self](std::span<const std::uint64_t> bytes,
                           std::span<const base::PeerId> send) {
      std::vector<std::uint8_t> paths;
      for (const base::PeerId to : send) paths.push_back(bytes[self * kMembers + to] > 200'000);
      return paths;
    };
    members_[self] = std::make_unique<UnevenSteps>(*groups_[self], network);
  }
  for (const std::uint8_t path : members_[1]->rounds().paths) {
    EXPECT_EQ(path, base::Rounds::kAnyPath) << "counts are not known yet";
  }
  EXPECT_EQ(prepare(hot(200'000)), kMembers);
  const base::Rounds& rounds = members_[1]->rounds();
  ASSERT_EQ(rounds.paths.size(), rounds.send.size());
  for (std::size_t i = 0; i < rounds.send.size(); ++i) {
    EXPECT_EQ(rounds.paths[i], rounds.send[i] == 2 ? 1 : 0);
  }
  EXPECT_TRUE(rounds.trains.empty());
  EXPECT_EQ(members_[1]->least_time(), 0);
  EXPECT_TRUE(exchange(hot(200'000)));
}

// All counts travel only for exchanges that will take the steps; later, when one does.
TEST_F(UnevenStepsTest, StepsAreMadeForThoseWhoTakeThem) {
  const auto never = [](std::uint64_t) { return false; };
  EXPECT_EQ(prepare(hot(200'000), never), 0u);
  EXPECT_EQ(sent(), kMembers - 1) << "one word to each";
  EXPECT_EQ(prepare(hot(200'000)), kMembers);
  EXPECT_EQ(sent(), 3 * (kMembers - 1)) << "and all counts";
}

TEST_F(UnevenStepsTest, EvenCountsKeepTheirRounds) {
  EXPECT_EQ(prepare(even(500'000)), 0u);
  EXPECT_EQ(members_[0]->rounds().steps, 0u);
  EXPECT_EQ(members_[0]->rounds().send.size(), kMembers - 1);
}

TEST_F(UnevenStepsTest, SmallExchangesAreAskedAboutEverMoreRarely) {
  std::uint64_t before = sent();
  std::vector<int> asked_at;
  for (int call = 0; call < 40; ++call) {
    EXPECT_EQ(prepare(hot(100 + call)), 0u);
    if (sent() != before) asked_at.push_back(call);
    before = sent();
  }
  EXPECT_EQ(asked_at, (std::vector<int>{0, 2, 6, 14, 30}));
}

// Between two agreements a rank notices that its own counts are others than the steps are for.
TEST_F(UnevenStepsTest, StepsAreNotTakenForOtherCounts) {
  constexpr std::uint64_t kBytes = 10'000;  // the hot one carries 240 KB: not asked about each time
  EXPECT_EQ(prepare(hot(kBytes)), kMembers);
  EXPECT_EQ(prepare(hot(kBytes)), kMembers);
  Matrix other = hot(kBytes);
  other[1 * kMembers + 3] += 5'000;
  EXPECT_EQ(prepare(other), kMembers - 2) << "ranks 1 and 3 take the usual rounds";
  EXPECT_EQ(prepare(other), kMembers) << "agreed on anew";
}

// 1 sends to 2, and 3 to 0.
TEST_F(UnevenStepsTest, BlocksThatShareNoLinkHaveAWindowOfTheirOwn) {
  Matrix lone = even(0);
  lone[1 * kMembers + 2] = 2'000'000;
  lone[3 * kMembers + 0] = 1'500'000;
  EXPECT_EQ(prepare(lone), kMembers);
  EXPECT_EQ(members_[1]->rounds().window_least, kUnsharedWindow);
  EXPECT_TRUE(members_[1]->rounds().trains.empty());
  EXPECT_TRUE(exchange(lone));
  lone[1 * kMembers + 0] = 100'000;
  EXPECT_EQ(prepare(lone), kMembers);
  EXPECT_EQ(members_[1]->rounds().window_least, 0u);
  EXPECT_FALSE(members_[1]->rounds().trains.empty());
  EXPECT_TRUE(exchange(lone));
}

class UnevenStepsOfSites : public UnevenStepsTest {
 protected:
  UnevenStepsOfSites() : UnevenStepsTest({0, 1, 0, 1}) {}
};

TEST_F(UnevenStepsOfSites, NearAndFarBlocksGoApart) {
  for (const auto& group : groups_) ASSERT_NE(group->site_plan(), nullptr);
  for (const std::uint64_t bytes : {50'000u, 50'000u, 90'000u, 10u}) {
    const std::uint32_t planned = prepare(hot(bytes));
    EXPECT_EQ(planned, bytes < 1'000 ? 0 : kMembers);
    const auto before = sent_plain(1);
    EXPECT_TRUE(exchange(hot(bytes))) << bytes;
    EXPECT_EQ(sent_plain(1), before) << bytes;
  }
}

// What members at different sites would send by plans that know sites differs.
TEST_F(UnevenStepsOfSites, MembersGatherByTheSamePlan) {
  for (const std::size_t bytes : {1u, 40u, 700u}) {
    std::array<bool, kMembers> right{};
    loopback_.on_all([&](std::uint32_t self) {
      const std::vector<std::byte> mine(bytes, std::byte(self));
      std::vector<std::byte> all(kMembers * bytes), expected;
      for (std::uint32_t from = 0; from < kMembers; ++from) {
        expected.insert(expected.end(), bytes, std::byte(from));
      }
      right[self] = groups_[self]->gather(mine, all).ok() && all == expected;
    });
    EXPECT_EQ(std::count(right.begin(), right.end(), true), kMembers) << bytes;
  }
}

TEST_F(UnevenStepsOfSites, AMembersOwnBlockHasOneSize) {
  const std::vector<std::uint64_t> send(kMembers, 10), at = {0, 10, 20, 30};
  std::vector<std::uint64_t> recv = send;
  recv[1] = 9;
  std::vector<std::byte> from(40), to(40);
  transport::Exchange exchange;
  exchange.send = {from.data(), 0, 0, at, send};
  exchange.recv = {to.data(), 0, 0, at, recv};
  const auto done = groups_[1]->run_blocks(exchange);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, base::ErrorCode::kBadInput) << done.error().message;
}

TEST_F(UnevenStepsTest, ExchangesGoInTheStepsMade) {
  for (const auto& group : groups_) ASSERT_EQ(group->site_plan(), nullptr);
  EXPECT_EQ(prepare(hot(50'000)), kMembers);
  EXPECT_TRUE(exchange(hot(50'000)));
}

TEST(CallsBetween, GrowWhereThereIsNoNewsAndNotForLargeExchanges) {
  EXPECT_EQ(UnevenSteps::calls_between(10 << 20, 9), 0u);
  EXPECT_EQ(UnevenSteps::calls_between(100 << 10, 0), 0u);
  EXPECT_EQ(UnevenSteps::calls_between(100 << 10, 9), 7u);
  EXPECT_EQ(UnevenSteps::calls_between(100, 9), 63u);
}

TEST(CallsBetween, AreManyWhereExchangesAreSparse) {
  EXPECT_EQ(UnevenSteps::calls_between(10 << 20, 0, 0, true), 0u);
  EXPECT_EQ(UnevenSteps::calls_between(10 << 20, 3, 0, true), 7u);
  EXPECT_EQ(UnevenSteps::calls_between(100, 99, 0, true), 255u);
}

TEST(CallsBetween, AreMoreWhereAnAgreementWaitsForALatency) {
  constexpr std::uint64_t kLatencyBytes = 625'000;  // 5 ms at 1 Gbit/s
  EXPECT_EQ(UnevenSteps::calls_between(100 << 20, 9, kLatencyBytes), 0u);
  EXPECT_EQ(UnevenSteps::calls_between(10 << 20, 9, kLatencyBytes), 7u);
  EXPECT_EQ(UnevenSteps::calls_between(10 << 20, 0, kLatencyBytes), 0u);
}

}  // namespace
}  // namespace alm::carrier

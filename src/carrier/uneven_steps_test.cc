#include "carrier/uneven_steps.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "plan/plan.h"
#include "plan/tune.h"

namespace alm::carrier {
namespace {

constexpr std::uint32_t kMembers = 4;

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

using Matrix = std::vector<std::uint64_t>;  // [from * kMembers + to]

// Four members in this process, each on a thread of its own while they exchange.
class UnevenStepsTest : public testing::Test {
 protected:
  UnevenStepsTest()
      : cluster_(star()), hosts_{{0}, {1}, {2}, {3}}, tuning_(plan::tune(cluster_, hosts_)) {
    std::vector<std::uint16_t> sets;
    for (std::uint32_t i = 0; i < kMembers; ++i) {
      io::EndpointOptions options;
      options.local_address = "127.0.0.1";
      options.mtu_bytes = 1500;
      drivers_.push_back(io::Driver::create(io::Endpoint::open(options).value()).value());
      sets.push_back(drivers_.back()->reserve_set());
    }
    for (std::uint32_t i = 0; i < kMembers; ++i) {
      io::PeerSet peers;
      peers.identity = {{1, 2}, i, sets[i], sets};
      peers.config.datagram_bytes = 1472;
      for (const auto& driver : drivers_) {
        peers.addresses.push_back({driver->endpoint().local()});
        peers.names.push_back("rank " + std::to_string(peers.names.size()));
      }
      carriers_.push_back(std::make_unique<UdpCarrier>(
          *drivers_[i], std::move(peers), plan_of(i), std::vector<plan::Plan>{},
          std::span<const std::vector<std::vector<std::uint16_t>>>{}, UdpCarrier::Shared{},
          UdpCarrier::Hooks{[] {}, [](const std::string&) {}}));
      members_.push_back(std::make_unique<UnevenSteps>(
          *carriers_[i], UnevenSteps::Network{&cluster_, tuning_.packet_time_us, hosts_}));
    }
  }

  // What each member has agreed on for an exchange of these bytes: how many take steps.
  std::uint32_t prepare(const Matrix& bytes, const UnevenSteps::WantsSteps& wants_steps = {}) {
    std::vector<std::thread> threads;
    for (std::uint32_t self = 0; self < kMembers; ++self) {
      threads.emplace_back([&, self] {
        std::vector<std::uint64_t> send(kMembers), recv(kMembers);
        for (std::uint32_t peer = 0; peer < kMembers; ++peer) {
          send[peer] = bytes[self * kMembers + peer];
          recv[peer] = bytes[peer * kMembers + self];
        }
        EXPECT_TRUE(members_[self]->prepare(send, recv, wants_steps).ok());
      });
    }
    for (auto& thread : threads) thread.join();
    std::uint32_t planned = 0;
    for (const auto& one : members_) planned += one->planned() ? 1 : 0;
    return planned;
  }
  std::uint64_t sent() const { return carriers_[0]->counters().data_sent; }

  topology::Cluster cluster_;
  std::vector<base::HostId> hosts_;
  plan::Tuning tuning_;
  std::vector<std::unique_ptr<io::Driver>> drivers_;
  std::vector<std::unique_ptr<UdpCarrier>> carriers_;
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

TEST(CallsBetween, GrowWhereThereIsNoNewsAndNotForLargeExchanges) {
  EXPECT_EQ(UnevenSteps::calls_between(10 << 20, 9), 0u);
  EXPECT_EQ(UnevenSteps::calls_between(100 << 10, 0), 0u);
  EXPECT_EQ(UnevenSteps::calls_between(100 << 10, 9), 7u);
  EXPECT_EQ(UnevenSteps::calls_between(100, 9), 63u);
}

}  // namespace
}  // namespace alm::carrier

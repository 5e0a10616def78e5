// Agreements of members that exchange with few others.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <numeric>
#include <vector>

#include "carrier/loopback_test_members.h"
#include "carrier/uneven_steps.h"
#include "plan/plan.h"

namespace alm::carrier {
namespace {

constexpr std::uint32_t kRingMembers = 20;

using BytesBetween = std::function<std::uint64_t(std::uint32_t from, std::uint32_t to)>;

// All in this process, each on a thread of its own while they agree.
class SparseSteps : public testing::Test {
 protected:
  SparseSteps() {
    for (std::uint32_t i = 0; i < kRingMembers; ++i) {
      groups_.push_back(std::make_unique<UdpGroup>(
          *loopback_.drivers[i], loopback_.peers_of(i),
          plan::make_plan({.ranks = kRingMembers, .self = {i}}).value(), std::vector<plan::Plan>(),
          std::vector<std::vector<std::vector<std::uint16_t>>>(), UdpGroup::Shared{},
          UdpGroup::Hooks{[] {}, {}}));
      members_.push_back(std::make_unique<UnevenSteps>(*groups_[i], UnevenSteps::Network{}));
    }
  }

  // How many packets an agreement or the lack of one has cost; all know the same load.
  std::uint64_t prepare(const BytesBetween& bytes) {
    const std::uint64_t before = sent();
    loopback_.on_all([&](std::uint32_t self) {
      std::vector<std::uint64_t> send, recv;
      for (std::uint32_t peer = 0; peer < kRingMembers; ++peer) {
        send.push_back(bytes(self, peer));
        recv.push_back(bytes(peer, self));
      }
      EXPECT_TRUE(members_[self]->prepare(send, recv).ok());
    });
    for (const auto& member : members_) EXPECT_EQ(member->load(), members_[0]->load());
    return sent() - before;
  }
  std::uint64_t sent() const {
    return std::accumulate(
        groups_.begin(), groups_.end(), std::uint64_t{0},
        [](std::uint64_t sum, const auto& group) { return sum + group->counters().data_sent; });
  }

  LoopbackMembers loopback_{kRingMembers};
  std::vector<std::unique_ptr<UdpGroup>> groups_;
  std::vector<std::unique_ptr<UnevenSteps>> members_;
};

// Around a ring, from some member to the next.
BytesBetween around(std::uint64_t bytes, std::uint32_t stride = 1) {
  return [=](std::uint32_t from, std::uint32_t to) {
    return (from + stride) % kRingMembers == to ? bytes : 0;
  };
}

constexpr std::uint64_t kToAll = std::uint64_t{kRingMembers} * (kRingMembers - 1);
constexpr std::uint64_t kAlongTheTree = std::uint64_t{2} * (kRingMembers - 1);

TEST_F(SparseSteps, AfterTheFirstAgreementNothingGoesToOthersThanPartners) {
  EXPECT_EQ(prepare(around(5000)), 2 * kToAll) << "what each carries, and who its partners are";
  EXPECT_EQ(members_[0]->load(), 5000u);
  std::vector<int> asked_at;
  for (int call = 1; call < 40; ++call) {
    const std::uint64_t packets = prepare(around(5000 + static_cast<std::uint64_t>(call)));
    if (packets == 0) continue;
    EXPECT_EQ(packets, kAlongTheTree) << call;
    EXPECT_EQ(members_[0]->load(), 5000u + static_cast<std::uint64_t>(call));
    asked_at.push_back(call);
  }
  EXPECT_EQ(asked_at, (std::vector<int>{2, 6, 14, 30}));
}

TEST_F(SparseSteps, OtherPartnersMakeAnotherTree) {
  prepare(around(5000));
  while (prepare(around(5000, 3)) == 0) continue;
  for (int agreements = 0; agreements < 2;) {
    const std::uint64_t packets = prepare(around(5000, 3));
    if (packets == 0) continue;
    EXPECT_EQ(packets, kAlongTheTree);
    ++agreements;
  }
}

TEST_F(SparseSteps, WhereAllBecomePartnersAllAreAskedAgain) {
  prepare(around(100));
  const BytesBetween all = [](std::uint32_t, std::uint32_t) { return 100; };
  std::uint64_t packets = 0;
  while ((packets = prepare(all)) == 0) continue;
  EXPECT_EQ(packets, kAlongTheTree);
  EXPECT_EQ(members_[7]->load(), 100u * (kRingMembers - 1));
  while ((packets = prepare(all)) == 0) continue;
  EXPECT_EQ(packets, kToAll);
}

}  // namespace
}  // namespace alm::carrier

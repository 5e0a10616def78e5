// Plans of every algorithm over messages, those of the options and those of none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "carrier/message_group.h"
#include "communicator/communicator_test_ranks.h"

namespace alm::communicator {
namespace {

constexpr std::uint32_t kEightRanks = 8;

void expect_blocks_to_arrive(plan::Algorithm algorithm, std::uint64_t bytes) {
  job::FakeJob job(kEightRanks);
  job::run_ranks(job, [&](job::FakeMpiOps& ops, std::uint32_t rank) {
    plan::Request request;
    request.ranks = kEightRanks;
    request.self = base::Rank{rank};
    request.algorithm = algorithm;
    for (std::uint32_t one = 0; one < kEightRanks; ++one) request.site_of.push_back(one % 3);
    auto plan = plan::make_plan(request);
    ASSERT_TRUE(plan) << plan.error().message;
    const std::string what = plan.value().identity + ", rank " + std::to_string(rank);
    auto messages = ops.make_point_to_point(
        job::FakeJob::kWorld, [](std::uint32_t from) { return "rank " + std::to_string(from); }, 1);
    ASSERT_TRUE(messages);
    carrier::MessageGroup group(std::move(messages).value(), std::move(plan).value());
    for (int call = 0; call < 3; ++call) {
      FakeBlocks blocks(kEightRanks, rank, bytes);
      // A group leaves a rank's own block to others.
      std::copy_n(blocks.send.begin() + rank * bytes, bytes, blocks.recv.begin() + rank * bytes);
      const auto done = group.run({blocks.send.data(), bytes, bytes},
                                  {blocks.recv.data(), bytes, bytes}, {.each = bytes});
      ASSERT_TRUE(done) << what << ": " << done.error().message;
      EXPECT_TRUE(blocks.arrived()) << what;
    }
  });
  EXPECT_FALSE(job.hung());
}

TEST(MessagePlans, BlocksArriveByEveryAlgorithm) {
  for (const std::uint64_t bytes : {1, 100, 5000}) {
#define ALM_ALGORITHM(enumerator, name, maker, shape, knows) \
  expect_blocks_to_arrive(plan::Algorithm::enumerator, bytes);
#include "plan/algorithms.def"
#undef ALM_ALGORITHM
  }
}

TEST(MessagePlans, BlocksArriveInEveryOrder) {
  for (const std::uint32_t ranks : {5u, kEightRanks, 36u}) {
    for (std::size_t i = 0; i < plan::kMessageOrders; ++i) {
      const auto order = static_cast<plan::MessageOrder>(i);
      if (!plan::is_of_its_own(order, ranks)) continue;
      job::FakeJob job(ranks);
      job::run_ranks(job, [&](job::FakeMpiOps& ops, std::uint32_t rank) {
        plan::Request request;
        request.ranks = ranks;
        request.self = base::Rank{rank};
        auto messages = ops.make_point_to_point(
            job::FakeJob::kWorld, [](std::uint32_t) { return std::string("rank"); }, 1);
        ASSERT_TRUE(messages);
        carrier::MessageGroup group(std::move(messages).value(), plan::make_plan(request).value());
        for (const std::uint64_t bytes : {1, 3000}) {
          FakeBlocks blocks(ranks, rank, bytes);
          std::copy_n(blocks.send.begin() + static_cast<std::ptrdiff_t>(rank * bytes), bytes,
                      blocks.recv.begin() + static_cast<std::ptrdiff_t>(rank * bytes));
          const auto done = group.run(order, blocks.send.data(), blocks.recv.data(), bytes);
          ASSERT_TRUE(done) << plan::name_of(order) << ": " << done.error().message;
          EXPECT_TRUE(blocks.arrived()) << plan::name_of(order) << ", " << ranks << " ranks";
        }
      });
      EXPECT_FALSE(job.hung());
    }
  }
}

TEST(MessagePlans, FarPhasesHaveAFlowOfTheirOwn) {
  job::FakeJob job(kEightRanks);
  job::run_ranks(job, [&](job::FakeMpiOps& ops, std::uint32_t rank) {
    plan::Request request;
    request.ranks = kEightRanks;
    request.self = base::Rank{rank};
    auto plan = plan::make_plan(request);
    request.algorithm = plan::Algorithm::kMultiSite;
    for (std::uint32_t one = 0; one < kEightRanks; ++one) request.site_of.push_back(one % 3);
    auto between_sites = plan::make_plan(request);
    ASSERT_TRUE(plan && between_sites);
    auto messages = ops.make_point_to_point(
        job::FakeJob::kWorld, [](std::uint32_t) { return std::string("rank"); }, 1);
    ASSERT_TRUE(messages);
    std::vector<plan::Reach> asked;
    const auto flow_of = [&](const plan::Phase& phase) {
      asked.push_back(phase.reach);
      return messages::MessageFlow(carrier::PointToPoint::kFew);
    };
    const carrier::MessageGroup group(std::move(messages).value(), std::move(plan).value(), flow_of,
                                      std::move(between_sites).value());
    EXPECT_THAT(asked, testing::UnorderedElementsAre(plan::Reach::kAny, plan::Reach::kNear,
                                                     plan::Reach::kFar));
  });
}

}  // namespace
}  // namespace alm::communicator

// Bursts before calls (tuning/bursts.h), and what calls of the library have shown before a trial.
#include <gtest/gtest.h>

#include "communicator/communicator_test_ranks.h"

namespace alm::communicator {
namespace {

constexpr job::CommHandle kWorld = job::FakeJob::kWorld;
constexpr std::uint64_t kBytes = 12'000;  // several packets: a call of the library may stall
constexpr int kCalls = 120;

void with_trials(job::FakeJob& job, const std::function<void(FakeRank&, Communicator&)>& body,
                 std::uint32_t ranks_per_host = 1) {
  const auto one = [&](FakeRank& rank) {
    rank.job.options.trials = true;
    auto made = Communicator::create(rank.job, kWorld, job.ranks(), rank.rank);
    ASSERT_TRUE(made->accelerates()) << made->obstacle();
    body(rank, *made);
    static_cast<void>(rank.ops.barrier(kWorld, base::kSecond));
    made->close();
  };
  run_fake_ranks(job, one, ranks_per_host);
}

void make_calls(FakeRank& rank, Communicator& comm, FakeBlocks& blocks, bool as_blocks = false) {
  for (int call = 0; call < kCalls; ++call) {
    blocks.clear();
    ASSERT_EQ(as_blocks ? comm.alltoall_blocks(blocks.block_call(rank.ops, kWorld))
                        : comm.alltoall(blocks.call(rank.ops, kWorld)),
              job::kMpiSuccess);
    ASSERT_TRUE(blocks.arrived());
  }
}

// Over loopback nothing is lost. When the library is tried then, trials tell
// (trial_stalls_test.cc).
void expect_held(FakeRank& rank) {
  if (rank.rank > 0) return;
  EXPECT_TRUE(rank.has_logged("queues hold what the MPI library sends at once: it can be tried"));
}

TEST(BurstCalls, ShowWhetherQueuesHoldThem) {
  job::FakeJob job(kRanks);
  with_trials(job, [](FakeRank& rank, Communicator& comm) {
    FakeBlocks blocks(kRanks, rank.rank, kBytes);
    make_calls(rank, comm, blocks);
    EXPECT_GT(comm.traffic().fills.sent, 0u);
    expect_held(rank);
  });
}

TEST(BurstCalls, ComeBeforeCallsWithBlocksOfAnySizeToo) {
  job::FakeJob job(kRanks);
  with_trials(job, [](FakeRank& rank, Communicator& comm) {
    FakeBlocks blocks(kRanks, rank.rank, kBytes);
    make_calls(rank, comm, blocks, true);
    EXPECT_GT(comm.traffic().fills.sent, 0u);
    expect_held(rank);
  });
}

// One rank of each host sends them, as many as all of its ranks would.
TEST(BurstCalls, LeadersMakeThemForTheRanksOfTheirHosts) {
  constexpr std::uint32_t kFour = 4;
  job::FakeJob job(kFour);
  const auto calls = [](FakeRank& rank, Communicator& comm) {
    FakeBlocks blocks(kFour, rank.rank, kBytes);
    make_calls(rank, comm, blocks);
    const std::uint64_t packets = comm.traffic().fills.sent;
    EXPECT_EQ(packets % (2 * 2 * tuning::TrialRules::kBurstPackets), 0u);
    EXPECT_EQ(packets > 0, rank.rank % 2 == 0) << packets;
    expect_held(rank);
  };
  with_trials(job, calls, 2);
}

TEST(BurstCalls, OfAFewPacketsNoneIsMade) {
  job::FakeJob job(kRanks);
  with_trials(job, [](FakeRank& rank, Communicator& comm) {
    FakeBlocks blocks(kRanks, rank.rank, 1000);
    make_calls(rank, comm, blocks);
    EXPECT_EQ(comm.traffic().fills.sent, 0u) << "so few fit any queue";
  });
}

// A communicator that has waited: the library is no risk, and needs no burst.
TEST(BurstCalls, WhatTheLibraryHasShownWhileTheCommunicatorWaitedMakesThemNeedless) {
  job::FakeJob job(kRanks);
  run_fake_ranks(job, [&](FakeRank& rank) {
    rank.job.options.trials = true;
    Communicator comm(rank.job, kWorld, job.ranks(), rank.rank);
    comm.bring_up_when_due({tuning::DueByTime::of_long_calls(1), tuning::DueByBytes(300, 1), ""});
    FakeBlocks blocks(kRanks, rank.rank, kBytes);
    int waited = 0;
    for (int call = 0; call < kCalls; ++call) {
      const courier::AlltoallCall made = blocks.call(rank.ops, kWorld);
      blocks.clear();
      if (comm.waits() != nullptr) {
        ASSERT_EQ(comm.come({std::span(&made.recv, 1), std::span(&made.send, 1)}, &made.recv),
                  job::kMpiSuccess);
      }
      if (comm.waits() != nullptr) {
        ASSERT_EQ(comm.waits()->by_library(made.native, &made.recv), job::kMpiSuccess);
        ++waited;
      } else {
        ASSERT_EQ(comm.alltoall(made), job::kMpiSuccess);
      }
      ASSERT_TRUE(blocks.arrived());
    }
    EXPECT_GT(waited, static_cast<int>(tuning::TrialRules::kWaitedCalls));
    EXPECT_LT(waited, kCalls - 20);
    EXPECT_EQ(comm.traffic().fills.sent, 0u);
    EXPECT_GT(rank.job.stats.record().native, 0u);
    static_cast<void>(rank.ops.barrier(kWorld, base::kSecond));
    comm.close();
  });
}

}  // namespace
}  // namespace alm::communicator

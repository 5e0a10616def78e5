// Nonblocking calls on communicators: the bytes arrive, and where one rank fails nobody waits for
// it.
#include <gmock/gmock.h>

#include <cerrno>
#include <functional>
#include <optional>
#include <string>
#include <system_error>
#include <thread>

#include "communicator/communicator.h"
#include "communicator/communicator_test_calls.h"

namespace alm::communicator {
namespace {

using ::testing::HasSubstr;

TEST(NonblockingCalls, NonblockingCallsCompleteInTheOrderOfTheProgram) {
  job::FakeJob job(kRanks);
  on_communicator(job, nonblocking, [](FakeRank& rank, Communicator& comm) {
    FakeBlocks first(kRanks, rank.rank, 700);
    FakeBlocks second(kRanks, rank.rank, 90);
    job::RequestHandle one = 0;
    job::RequestHandle two = 0;
    ASSERT_EQ(comm.start(first.call(rank.ops, kComm), one), job::kMpiSuccess);
    ASSERT_EQ(comm.start_blocks(second.block_call(rank.ops, kComm), two), job::kMpiSuccess);
    EXPECT_TRUE(rank.ops.request(one)->wait().good());
    EXPECT_TRUE(rank.ops.request(two)->wait().good());
    EXPECT_TRUE(first.arrived() && second.arrived());
    FakeBlocks third(kRanks, rank.rank, 700);
    ASSERT_EQ(comm.alltoall(third.call(rank.ops, kComm)), job::kMpiSuccess);
    EXPECT_TRUE(third.arrived());
    comm.leave();
    EXPECT_TRUE(comm.idle());
  });
}

// Where messages won, they would come between those of other calls.
TEST(NonblockingCalls, NonblockingCallsGoTheWayThatWasDecidedUnlessItIsMessages) {
  for (const bool library : {true, false}) {
    job::FakeJob job(kRanks);
    const auto decided = [&](FakeRank& rank) {
      on_trial(rank);
      nonblocking(rank);
      decide_before(rank, kRanks, "udp sync-shuffle@balanced", library ? "library" : "mpi few");
    };
    on_communicator(job, decided, [&](FakeRank& rank, Communicator& comm) {
      FakeBlocks blocks(kRanks, rank.rank, 200);
      job::RequestHandle request = 0;
      ASSERT_EQ(comm.start(blocks.call(rank.ops, kComm), request), job::kMpiSuccess)
          << "none so far";
      EXPECT_TRUE(rank.ops.request(request)->wait().good());
      ASSERT_EQ(comm.alltoall(blocks.call(rank.ops, kComm)), job::kMpiSuccess);
      const auto sent = rank.job.stats.record().mpi_messages;
      const auto code = comm.start(blocks.call(rank.ops, kComm), request);
      if (library) {
        EXPECT_EQ(code, std::nullopt);
        return;
      }
      ASSERT_EQ(code, job::kMpiSuccess);
      EXPECT_TRUE(rank.ops.request(request)->wait().good());
      EXPECT_EQ(rank.job.stats.record().mpi_messages, sent);
    });
  }
}

// Rank 0 fails in this call of MPI while it starts an exchange of two.
void expect_start_fails(const std::string& call, job::TypeHandle type = 0) {
  job::FakeJob job(2);
  job.fail({0, call, 1});
  on_communicator(job, nonblocking, [type](FakeRank& rank, Communicator& comm) {
    FakeBlocks blocks(2, rank.rank, 200);
    job::RequestHandle request = 0;
    const auto code = comm.start(blocks.call(rank.ops, kComm, type), request);
    if (rank.rank == 0) {
      EXPECT_EQ(code, job::kFakeRaised);
    } else {
      ASSERT_EQ(code, job::kMpiSuccess);
      EXPECT_THAT(rank.ops.request(request)->wait().failure.message, HasSubstr("rank 0 on h0"));
    }
  });
}

TEST(NonblockingCalls, ARankThatCannotPackANonblockingCallIsNamedOnAll) {
  expect_start_fails("pack", 7);
}

TEST(NonblockingCalls, ARankWithoutMemoryWhileANonblockingCallIsCarriedFailsTheNextOnAll) {
  job::FakeJob job(2);
  job.fail({1, "unpack", 1, true});
  on_communicator(job, nonblocking, [](FakeRank& rank, Communicator& comm) {
    FakeBlocks blocks(2, rank.rank, 200);
    job::RequestHandle request = 0;
    ASSERT_EQ(comm.start(blocks.call(rank.ops, kComm, 7), request), job::kMpiSuccess);
    const job::Outcome outcome = rank.ops.request(request)->wait();
    EXPECT_EQ(outcome.failure.message.find("no memory") != std::string::npos, rank.rank == 1);
    EXPECT_EQ(comm.alltoall(blocks.call(rank.ops, kComm)), job::kFakeRaised);
    EXPECT_THAT(rank.ops.raised().back(), HasSubstr("rank 1 on h1"));
  });
}

TEST(NonblockingCalls, WhereOneRankHasNoThreadNonblockingCallsOfAllPassThrough) {
  job::FakeJob job(kRanks);
  const auto without = [](FakeRank& rank) {
    nonblocking(rank);
    if (rank.rank != 1) return;
    rank.job.start_thread = [](std::function<void()>) -> std::thread {
      throw std::system_error(EAGAIN, std::generic_category());
    };
  };
  on_communicator(job, without, [](FakeRank& rank, Communicator& comm) {
    EXPECT_EQ(rank.has_logged("cannot start a thread"), rank.rank == 1);
    FakeBlocks blocks(kRanks, rank.rank, 200);
    job::RequestHandle request = 0;
    EXPECT_EQ(comm.start(blocks.call(rank.ops, kComm), request), std::nullopt);
    EXPECT_EQ(comm.start_blocks(blocks.block_call(rank.ops, kComm), request), std::nullopt);
    ASSERT_EQ(comm.alltoall(blocks.call(rank.ops, kComm)), job::kMpiSuccess);
    EXPECT_TRUE(blocks.arrived());
  });
}

TEST(NonblockingCalls, ARequestThatCannotBeMadeFailsAllRanks) {
  expect_start_fails("make_request");
}

// As a program whose rank 1 leaves out a call and goes on to MPI_Finalize.
TEST(NonblockingCalls, ARankThatMakesNoFurtherCallIsNotWaitedFor) {
  job::FakeJob job(kRanks);
  on_communicator(job, nonblocking, [](FakeRank& rank, Communicator& comm) {
    FakeBlocks blocks(kRanks, rank.rank, 200);
    if (rank.rank != 1) {
      job::RequestHandle request = 0;
      ASSERT_EQ(comm.start(blocks.call(rank.ops, kComm), request), job::kMpiSuccess);
      const job::Outcome outcome = rank.ops.request(request)->wait();
      EXPECT_THAT(outcome.failure.message, HasSubstr("rank 1 on h1"));
    }
    comm.leave();
  });
  EXPECT_FALSE(job.hung());
}

}  // namespace
}  // namespace alm::communicator

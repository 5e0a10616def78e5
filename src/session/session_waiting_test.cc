// Communicators that are not brought up yet: their calls go to the library until they have cost as
// much.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <functional>
#include <thread>

#include "session/session_test_ranks.h"

namespace alm::session {
namespace {

// Of jobs with trials, in which the world waits.
struct WaitingTest : SessionTest {
  void SetUp() override {
    SessionTest::SetUp();
    options.front() = "trials=on";
  }
  // The program on all ranks; `brought_up(process)` tells it whether the world is up by now.
  using BroughtUp = std::function<bool(const FakeProcess& process)>;
  void run_good(
      const std::function<void(FakeProcess& process, const BroughtUp& brought_up)>& body) {
    job::FakeJob job(kRanks);
    const auto ends = run(job, [&](FakeProcess& process) {
      const int before = job.calls(process.rank)["allgather"];
      body(process,
           [&](const FakeProcess& its) { return job.calls(its.rank)["allgather"] > before; });
      native[process.rank] = job.calls(process.rank)["native"];
    });
    for (const End& end : ends) EXPECT_TRUE(end.good);
  }
  std::array<int, kRanks> native{};  // [rank] calls that the library has carried
};

TEST_F(WaitingTest, TheWorldWaitsWithAFewSmallBlocks) {
  run_good([](FakeProcess& process, const BroughtUp& brought_up) {
    for (int call = 0; call < 3; ++call) process.alltoall(kWorld, 256);
    EXPECT_FALSE(brought_up(process));
  });
  EXPECT_EQ(native, (std::array{3, 3, 3}));
}

TEST_F(WaitingTest, TheWorldDoesNotWaitWithALargerBlock) {
  run_good([](FakeProcess& process, const BroughtUp& brought_up) {
    process.alltoall(kWorld, 8);
    EXPECT_FALSE(brought_up(process));
    process.alltoall(kWorld, 257);
    EXPECT_TRUE(brought_up(process));
  });
  EXPECT_EQ(native, (std::array{1, 1, 1}));
}

TEST_F(WaitingTest, TheWorldDoesNotWaitWithBlocksOfAnySizes) {
  run_good([](FakeProcess& process, const BroughtUp& brought_up) {
    process.alltoall_blocks(kWorld, 8);
    EXPECT_TRUE(brought_up(process));
  });
}

TEST_F(WaitingTest, WhateverFailsOnOneRankWhileTheWorldWaitsAllRanksEndAlike) {
  EXPECT_GT(expect_alike_whatever_fails([](FakeProcess& process) {
              for (int call = 0; call < 4; ++call) process.alltoall(kWorld, 8);
              process.alltoall(kWorld, 300);
            }),
            0);
}

TEST_F(WaitingTest, ACommunicatorOfAFewShortCallsIsNotBroughtUp) {
  job::FakeJob job(kRanks);
  const auto ends = run(job, [&](FakeProcess& process) {
    const auto before = job.calls(process.rank)["allgather"];
    for (int times = 0; times < 5; ++times) {
      process.alltoall(kOther);
      process.alltoall(kOther);
      Session::communicator_freed(process.ops.free(kOther));
    }
    EXPECT_EQ(job.calls(process.rank)["native"], 10);
    EXPECT_EQ(job.calls(process.rank)["allgather"], before);
  });
  for (const End& end : ends) EXPECT_TRUE(end.good);
}

TEST_F(WaitingTest, ACommunicatorIsBroughtUpWhenItsCallsHaveCostAsMuch) {
  job::FakeJob job(kRanks);
  const auto ends = run(job, [&](FakeProcess& process) {
    const auto before = job.calls(process.rank)["allgather"];
    for (int call = 0; call < 1000; ++call) process.alltoall(kOther);
    EXPECT_GT(job.calls(process.rank)["allgather"], before);
  });
  for (const End& end : ends) EXPECT_TRUE(end.good);
}

// As libraries do on networks that congest: the bytes of these calls alone would pay for bring-up
// after a hundred of them.
TEST_F(WaitingTest, ACommunicatorWhoseCallsStallIsBroughtUpSoon) {
  run_good([](FakeProcess& process, const BroughtUp& brought_up) {
    for (int number = 1; number <= 8; ++number) {
      communicator::FakeBlocks blocks(process.ranks, process.rank, 300);
      courier::AlltoallCall call = blocks.call(process.ops, kOther);
      call.native = [native = call.native] {
        std::this_thread::sleep_for(std::chrono::milliseconds(80));
        return native();
      };
      const auto code = process.session->alltoall(call);
      EXPECT_EQ(code ? *code : call.native(), job::kMpiSuccess);
      EXPECT_EQ(brought_up(process), number == 8) << number;
    }
  });
}

}  // namespace
}  // namespace alm::session

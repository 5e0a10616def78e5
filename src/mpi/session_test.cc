// From MPI_Init to MPI_Finalize on several ranks: all of them come to the same end, whatever fails
// on one.
#include "mpi/session.h"

#include <gmock/gmock.h>
#include <stdlib.h>

#include <optional>
#include <vector>

#include "mpi/communicator_test_ranks.h"

namespace alm::mpi {
namespace {

constexpr std::uint32_t kRanks = 3;
constexpr CommHandle kOther = 5;  // a duplicate of MPI_COMM_WORLD

// Options come from the environment. All ranks of one process are on one host: nothing is
// accelerated, and what is tested is what the ranks agree on.
class SessionTest : public testing::Test {
 protected:
  void SetUp() override {
    ::setenv("ALLEMANDE_LOG", "error", 1);
    ::setenv("HOME", "/nonexistent", 1);
  }
};

struct End {
  bool started = false, aborted = true, accelerating = false;
  std::optional<int> code;
};

std::vector<End> run(FakeJob& job) {
  std::vector<End> ends(job.ranks());
  run_ranks(job, [&](FakeMpiOps& ops, std::uint32_t rank) {
    End& end = ends[rank];
    auto session = Session::start(ops);
    end.started = true;
    end.aborted = false;
    end.accelerating = session->accelerating();
    FakeBlocks blocks(job.ranks(), rank, 100);
    end.code = session->alltoall(blocks.call(ops, kOther));
    session->finish();
  });
  return ends;
}

TEST_F(SessionTest, RanksOfOneHostPassThrough) {
  FakeJob job(kRanks);
  for (const End& end : run(job)) {
    EXPECT_TRUE(end.started);
    EXPECT_FALSE(end.accelerating);
    EXPECT_EQ(end.code, std::nullopt);
  }
}

TEST_F(SessionTest, WhateverFailsOnOneRankAtTheStartAllRanksEndAlike) {
  FakeJob sound(kRanks);
  run(sound);
  const auto calls = sound.calls(0);
  for (const char* name : {"allgather", "allreduce_min"}) {
    ASSERT_EQ(calls.count(name), 1u);
    for (int time = 1; time <= calls.at(name); ++time) {
      for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
        FakeJob job(kRanks);
        job.fail({rank, name, time});
        for (const End& end : run(job)) {
          EXPECT_TRUE(end.started) << name << " " << time << " on rank " << rank;
          EXPECT_FALSE(end.accelerating);
          EXPECT_EQ(end.code, std::nullopt);
        }
        EXPECT_FALSE(job.hung());
      }
    }
  }
}

TEST_F(SessionTest, AWorldThatCannotBeAskedAboutEndsTheJob) {
  for (const char* name : {"comm_size", "comm_rank", "barrier"}) {
    FakeJob job(kRanks);
    job.fail({1, name, 1});
    const auto ends = run(job);
    EXPECT_TRUE(ends[1].aborted) << name;
    EXPECT_FALSE(job.hung());
  }
}

}  // namespace
}  // namespace alm::mpi

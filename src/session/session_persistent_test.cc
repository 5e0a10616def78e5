#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "session/session_test_ranks.h"

namespace alm::session {
namespace {

struct PersistentTest : SessionTest {
  void SetUp() override {
    SessionTest::SetUp();
    provides_threads = true;
  }
};

// A persistent call of one rank: made once, started often.
struct Persistent {
  Persistent(FakeProcess& its, job::CommHandle comm, std::uint64_t bytes = 2000,
             bool any_size = false)
      : process(its), blocks(its.ranks, its.rank, bytes) {
    if (any_size) {
      auto call = blocks.block_call(its.ops, comm);
      call.persistent = true;
      made = process.session->start_blocks(call, handle);
    } else {
      auto call = blocks.call(its.ops, comm);
      call.persistent = true;
      made = process.session->start(call, handle);
    }
  }
  bool ours() const { return made == job::kMpiSuccess; }
  job::FakePersistent& request() { return process.ops.persistent(handle); }
  void start(bool seen = true) {
    blocks.clear();
    request().start(seen);
  }
  void wait() { process.good = process.good && request().wait().good() && blocks.arrived(); }

  FakeProcess& process;
  communicator::FakeBlocks blocks;
  job::RequestHandle handle = 0;
  std::optional<int> made;
};

TEST_F(PersistentTest, EachStartExchangesAndSeveralMayBeUnderWayInAnyOrder) {
  job::FakeJob job(kRanks);
  const auto ends = run(job, [](FakeProcess& process) {
    Persistent one(process, kWorld), other(process, kWorld, 700, true), third(process, kOther);
    ASSERT_TRUE(one.ours() && other.ours() && third.ours());
    std::vector<Persistent*> order = {&one, &other, &third};
    for (std::uint32_t call = 0; call < 4; ++call) {
      std::rotate(order.begin(), order.begin() + (process.rank + call) % 2, order.end());
      for (Persistent* each : order) each->start();
      if (call % 2 == 0) process.alltoall(kWorld);
      for (Persistent* each : {&third, &one, &other}) each->wait();
    }
  });
  for (const End& end : ends) EXPECT_TRUE(end.good);
  EXPECT_EQ(job.calls(0)["native"], 0);
}

TEST_F(PersistentTest, StartsThatAreNotSeenAreFound) {
  job::FakeJob job(kRanks);
  const auto ends = run(job, [](FakeProcess& process) {
    Persistent one(process, kWorld);
    ASSERT_TRUE(one.ours());
    for (int call = 0; call < 20; ++call) {
      one.start(call % 3 == 0 || process.rank == 1);
      one.wait();
    }
  });
  for (const End& end : ends) EXPECT_TRUE(end.good);
}

TEST_F(PersistentTest, ACallTakesOverWhatAFreedOneHasBroughtUp) {
  job::FakeJob job(kRanks);
  const auto ends = run(job, [&](FakeProcess& process) {
    int gathers = 0;
    for (int time = 0; time < 5; ++time) {
      Persistent one(process, kWorld);
      ASSERT_TRUE(one.ours());
      one.start();
      one.wait();
      one.request().drop();
      const int now = job.calls(process.rank)["allgather"];
      if (time == 0) gathers = now;
      EXPECT_EQ(now, gathers) << time;
    }
  });
  for (const End& end : ends) EXPECT_TRUE(end.good);
}

TEST_F(PersistentTest, ThoseOfAFreedCommunicatorGoOn) {
  job::FakeJob job(kRanks);
  const auto ends = run(job, [](FakeProcess& process) {
    Persistent one(process, kOther);
    ASSERT_TRUE(one.ours());
    Session::communicator_freed(process.ops.free(kOther));
    for (int call = 0; call < 3; ++call) {
      process.alltoall(kWorld);
      one.start();
      one.wait();
    }
  });
  for (const End& end : ends) EXPECT_TRUE(end.good);
}

TEST_F(PersistentTest, WithoutThreadsOrWithTooManyTheLibraryCarriesThem) {
  job::FakeJob many(kRanks);
  run(many, [](FakeProcess& process) {
    int ours = 0;
    for (int time = 0; time < 40; ++time) ours += Persistent(process, kWorld).ours() ? 1 : 0;
    EXPECT_EQ(ours, 32);
  });
  provides_threads = false;
  job::FakeJob without(kRanks);
  const auto ends = run(without, [](FakeProcess& process) {
    EXPECT_FALSE(Persistent(process, kWorld).made);
    EXPECT_FALSE(Persistent(process, kOther, 100, true).made);
  });
  for (const End& end : ends) EXPECT_TRUE(end.good);
}

TEST_F(PersistentTest, WhatCannotBeMadeOnOneRankTheLibraryCarriesOnAll) {
  job::FakeJob job(kRanks);
  job.fail({1, "make_persistent", 1});
  const auto ends = run(job, [](FakeProcess& process) {
    EXPECT_FALSE(Persistent(process, kWorld).made);
    Persistent next(process, kWorld);
    ASSERT_TRUE(next.ours());
    next.start();
    next.wait();
  });
  for (const End& end : ends) EXPECT_TRUE(end.good);
}

TEST_F(PersistentTest, WhateverFailsOnOneRankAllRanksEndAlike) {
  EXPECT_GT(expect_alike_whatever_fails([](FakeProcess& process) {
              Persistent one(process, kWorld);
              if (one.ours()) {
                one.start();
                one.wait();
              } else if (one.made) {
                process.good = false;
              }
              process.alltoall(kWorld);
            }),
            0);
}

}  // namespace
}  // namespace alm::session

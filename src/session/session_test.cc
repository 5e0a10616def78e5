// From MPI_Init to MPI_Finalize on several ranks: all of them come to the same end, whatever fails
// on one.
#include "session/session.h"

#include <gmock/gmock.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "session/session_test_ranks.h"

namespace alm::session {
namespace {

using ::testing::HasSubstr;

// ---- starting ----------------------------------------------------------------------------------

TEST_F(SessionTest, RanksOfOneHostPassThrough) {
  configure = [](std::uint32_t, Surroundings& its) { its.settings.host = "h0"; };
  job::FakeJob job(kRanks);
  for (const End& end : run(job, [](FakeProcess& process) { process.alltoall(kOther); })) {
    EXPECT_FALSE(end.accelerating);
    EXPECT_TRUE(end.good);
  }
  EXPECT_EQ(job.calls(0)["native"], 1);
}

TEST_F(SessionTest, RanksOfSeveralHostsAreAccelerated) {
  job::FakeJob job(kRanks);
  const auto ends = run(job, [](FakeProcess& process) {
    process.alltoall(kWorld);
    process.alltoall_blocks(kWorld);
    process.alltoall(kOther);
  });
  for (const End& end : ends) EXPECT_TRUE(end.accelerating && end.good);
  EXPECT_EQ(job.calls(0)["native"], 0);
}

TEST_F(SessionTest, WhateverFailsOnOneRankAllRanksEndAlike) {
  EXPECT_GT(expect_alike_whatever_fails([](FakeProcess& process) {
              process.alltoall(kOther);
              process.alltoall(kOther);
              process.alltoall_blocks(kOther);
            }),
            0);
}

TEST_F(SessionTest, WhateverFailsOnOneRankWhereNoneIsAcceleratedAllRanksEndAlike) {
  options.push_back("algorithm=native");
  EXPECT_GT(expect_alike_whatever_fails([](FakeProcess& process) { process.alltoall(kOther); }), 0);
}

TEST_F(SessionTest, AWorldThatCannotBeAskedAboutEndsTheJob) {
  for (const char* name : {"comm_size", "comm_rank", "barrier"}) {
    job::FakeJob job(kRanks);
    job.fail({1, name, 1});
    const auto ends = run(job, [](FakeProcess&) {});
    EXPECT_TRUE(ends[1].aborted && !ends[1].started) << name;
    EXPECT_FALSE(job.hung());
  }
}

TEST_F(SessionTest, AConfigurationThatIsInvalidOnOneRankIsWarnedOfAndAcceleratesNone) {
  configure = [](std::uint32_t rank, Surroundings& its) {
    if (rank == 1) its.settings.cluster_file = "/nonexistent/cluster.toml";
  };
  job::FakeJob job(kRanks);
  const auto ends = run(job, [](FakeProcess& process) { process.alltoall(kWorld); });
  for (const End& end : ends) EXPECT_TRUE(!end.accelerating && end.good);
  ASSERT_EQ(ends[0].logged.size(), 1u);
  EXPECT_THAT(ends[0].logged[0], HasSubstr("not valid on rank 1 (h1)"));
  ASSERT_EQ(ends[1].logged.size(), 1u);
  EXPECT_EQ(
      ends[1].logged[0],
      "ALLEMANDE_CLUSTER: /nonexistent/cluster.toml: cannot be read: No such file or directory; "
      "expected a cluster file");
  EXPECT_TRUE(ends[2].logged.empty());
}

TEST_F(SessionTest, AClusterFileThatLacksHostsOfTheJobIsLikeNone) {
  for (const char* hosts : {"x[0-2]", "h0,x1,h2"}) {
    std::ofstream(path("others.toml"))
        << "format = 1\nname = \"others\"\n[[switch]]\nname = \"s\"\n[[host]]\nname = \"" << hosts
        << "\"\n[[link]]\nfrom = \"" << hosts << "\"\nto = \"s\"\nrate_mbit_s = 100\n";
    configure = [this](std::uint32_t, Surroundings& its) {
      its.settings.cluster_file = path("others.toml");
    };
    job::FakeJob job(kRanks);
    const auto ends = run(job, [](FakeProcess& process) { process.alltoall(kWorld); });
    for (const End& end : ends) EXPECT_TRUE(end.accelerating && end.good) << hosts;
    ASSERT_FALSE(ends[0].logged.empty()) << hosts;
    EXPECT_THAT(ends[0].logged[0], HasSubstr("(3 hosts) does not name host")) << hosts;
    EXPECT_THAT(ends[0].logged[0], HasSubstr("of this job: the job does without a cluster file"));
  }
}

TEST_F(SessionTest, OptionsThatDifferOnOneRankAreWarnedOfAndAccelerateNone) {
  configure = [](std::uint32_t rank, Surroundings& its) {
    if (rank == 2) its.settings.options.push_back("algorithm=direct");
  };
  job::FakeJob job(kRanks);
  const auto ends = run(job, [](FakeProcess& process) { process.alltoall(kWorld); });
  for (const End& end : ends) EXPECT_TRUE(!end.accelerating && end.good);
  ASSERT_EQ(ends[0].logged.size(), 1u);
  EXPECT_THAT(ends[0].logged[0], HasSubstr("differ on rank 2 (h2)"));
}

// ---- communicators -----------------------------------------------------------------------------

TEST_F(SessionTest, ACommunicatorThatOneRankDoesNotKeepPassesThroughOnAll) {
  job::FakeJob job(kRanks);
  job.fail({1, "set_state", 1});
  const auto ends = run(job, [](FakeProcess& process) {
    for (int call = 0; call < 3; ++call) process.alltoall(kOther);
    process.alltoall(kWorld);
  });
  for (const End& end : ends) EXPECT_TRUE(end.good);
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    EXPECT_EQ(job.calls(rank)["native"], 3) << "those on MPI_COMM_WORLD are accelerated";
    EXPECT_EQ(job.calls(rank)["set_state"], 2) << "each communicator is met once";
  }
  ASSERT_EQ(ends[0].logged.size(), 1u);
  EXPECT_THAT(ends[0].logged[0], HasSubstr("rank 1 on h1: MPI does not keep what belongs to"));
}

// What MPI does not keep is known by its handle, which another communicator may get.
TEST_F(SessionTest, AHandleThatIsFreedBelongsToNobody) {
  job::FakeJob job(kRanks);
  job.fail({1, "set_state", 1});
  const auto ends = run(job, [](FakeProcess& process) {
    process.alltoall(kOther);
    process.session->forget(kOther);
    if (void* state = process.ops.free(kOther)) Session::communicator_freed(state);
    for (int call = 0; call < 2; ++call) process.alltoall(kOther);
  });
  for (const End& end : ends) EXPECT_TRUE(end.good);
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    EXPECT_EQ(job.calls(rank)["native"], 1) << "the second communicator is accelerated";
    EXPECT_EQ(job.calls(rank)["set_state"], 2);
  }
}

TEST_F(SessionTest, ACommunicatorThatCannotBeAskedAboutFailsThatCallAndIsMetInTheNext) {
  for (const char* name : {"comm_size", "comm_rank", "is_intercommunicator", "is_within_world"}) {
    job::FakeJob sound(kRanks);
    run(sound, [](FakeProcess&) {});
    job::FakeJob job(kRanks);
    job.fail({1, name, sound.calls(1)[name] + 1});
    const auto ends = run(job, [&](FakeProcess& process) {
      if (process.rank == 1) {
        communicator::FakeBlocks blocks(kRanks, 1, 200);
        EXPECT_EQ(process.session->alltoall(blocks.call(process.ops, kOther)), job::kFakeError)
            << name;
      }
      process.alltoall(kOther);
    });
    for (const End& end : ends) EXPECT_TRUE(end.good) << name;
    EXPECT_EQ(job.calls(0)["native"], 0) << name;
    EXPECT_FALSE(job.hung()) << name;
  }
}

TEST_F(SessionTest, IntercommunicatorsAndThoseOfOtherJobsPassThroughWithoutACollective) {
  job::FakeJob job(kRanks);
  job.intercommunicators = {7};
  job.of_other_jobs = {8};
  const auto ends = run(job, [&](FakeProcess& process) {
    const auto before = job.calls(process.rank);
    for (const job::CommHandle comm : {7, 8, 7, 8}) {
      communicator::FakeBlocks blocks(kRanks, process.rank, 200);
      EXPECT_EQ(process.session->alltoall(blocks.call(process.ops, comm)), std::nullopt);
      EXPECT_EQ(process.session->alltoall_blocks(blocks.block_call(process.ops, comm)),
                std::nullopt);
    }
    auto after = job.calls(process.rank);
    for (const char* name : {"allgather", "allreduce_min", "make_point_to_point"}) {
      EXPECT_EQ(after[name], before.count(name) == 0 ? 0 : before.at(name)) << name;
    }
    EXPECT_EQ(after["set_state"], 2);
  });
  for (const End& end : ends) EXPECT_TRUE(end.accelerating);
}

TEST_F(SessionTest, ACommunicatorWithTheHandleOfAFreedOneIsBroughtUpAnew) {
  job::FakeJob job(kRanks);
  const auto ends = run(job, [](FakeProcess& process) {
    for (int times = 0; times < 3; ++times) {
      process.alltoall(kOther);
      Session::communicator_freed(process.ops.free(kOther));
    }
    process.alltoall(kWorld);
  });
  for (const End& end : ends) EXPECT_TRUE(end.good);
  EXPECT_EQ(job.calls(0)["set_state"], 4);
  EXPECT_EQ(job.calls(0)["native"], 0);
}

TEST_F(SessionTest, BlocksOfAnySizesAreTriedWhereTheNetworkIsKnown) {
  options.front() = "trials=on";
  job::FakeJob job(kRanks);
  const auto ends = run(job, [](FakeProcess& process) {
    for (int call = 0; call < 50; ++call) process.alltoall_blocks(kWorld, call % 2 == 0 ? 300 : 0);
  });
  for (const End& end : ends) EXPECT_TRUE(end.good);
  EXPECT_GT(job.calls(0)["native"], 0);
  EXPECT_LT(job.calls(0)["native"], 50);
}

// ---- where buffers lie -------------------------------------------------------------------------

// Calls of which the second is from GPU memory on rank 1 alone.
struct DeviceMemoryTest : SessionTest {
  void SetUp() override {
    SessionTest::SetUp();
    options.push_back("device_memory=on");
    configure = [](std::uint32_t rank, Surroundings& its) {
      its.in_device_memory = [rank, calls = 0](const void*) mutable {
        return rank == 1 && ++calls == 3;  // of each call two buffers are asked about
      };
    };
  }
  static void three_calls(FakeProcess& process) {
    for (int call = 0; call < 3; ++call) process.alltoall(kWorld);
  }
};

TEST_F(DeviceMemoryTest, ACallFromGpuMemoryOnOneRankPassesThroughOnAll) {
  job::FakeJob job(kRanks);
  for (const End& end : run(job, three_calls)) EXPECT_TRUE(end.good);
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) EXPECT_EQ(job.calls(rank)["native"], 1);
}

TEST_F(DeviceMemoryTest, WhateverFailsOnOneRankAllRanksEndAlike) {
  EXPECT_GT(expect_alike_whatever_fails(three_calls), 0);
}

TEST_F(DeviceMemoryTest, ARankWhoseOwnBufferIsThereNeedsNoAnswerToPassThroughAsTheOthersDo) {
  job::FakeJob sound(kRanks);
  run(sound, three_calls);
  const int last = sound.calls(1)["allreduce_min"];
  job::FakeJob job(kRanks);
  job.fail({1, "allreduce_min", last - 2});  // one for each call, and one in MPI_Finalize
  for (const End& end : run(job, three_calls)) EXPECT_TRUE(end.good);
}

// ---- nonblocking calls -------------------------------------------------------------------------

struct ThreadsTest : SessionTest {
  void SetUp() override {
    SessionTest::SetUp();
    provides_threads = true;
    options.push_back("progress=thread");
  }
};

TEST_F(ThreadsTest, NonblockingCallsBeginOnTheWorldAtOnceAndElsewhereOnceItIsUp) {
  job::FakeJob job(kRanks);
  const auto ends = run(job, [](FakeProcess& process) {
    EXPECT_TRUE(process.ialltoall(kWorld));
    EXPECT_FALSE(process.ialltoall(kOther));
    process.alltoall(kOther);
    EXPECT_TRUE(process.ialltoall(kOther));
    EXPECT_TRUE(process.ialltoall_blocks(kOther));
  });
  for (const End& end : ends) EXPECT_TRUE(end.good);
}

TEST_F(ThreadsTest, WhereTheProgramHasThreadsNonblockingCallsBeginWithoutAnOption) {
  options.pop_back();
  job::FakeJob job(kRanks);
  const auto ends = run(job, [](FakeProcess& process) { EXPECT_TRUE(process.ialltoall(kWorld)); });
  for (const End& end : ends) EXPECT_TRUE(end.good);
  provides_threads = false;
  job::FakeJob without(kRanks);
  run(without, [](FakeProcess& process) { EXPECT_FALSE(process.ialltoall(kWorld)); });
}

TEST_F(ThreadsTest, WhereNonblockingCallsArePossibleTheWorldDoesNotWait) {
  options.pop_back();
  options.front() = "trials=on";
  job::FakeJob job(kRanks);
  const auto ends =
      run(job, [](FakeProcess& process) { EXPECT_TRUE(process.ialltoall_blocks(kWorld, 8)); });
  for (const End& end : ends) EXPECT_TRUE(end.good);
}

TEST_F(ThreadsTest, WhateverFailsOnOneRankAllRanksEndAlike) {
  EXPECT_GT(expect_alike_whatever_fails([](FakeProcess& process) {
              process.ialltoall(kWorld);
              process.alltoall(kWorld);
            }),
            0);
}

// Bringing up MPI_COMM_WORLD in MPI_Init waits for all ranks: none may stay away from it.
TEST_F(ThreadsTest, NothingCanFailOnOneRankBeforeAllMeetInBringingUpTheWorld) {
  struct Failing {
    const char* name;
    int time;  // the first of the size and of the rank would end the job
  };
  for (const auto [name, time] :
       {Failing{"comm_size", 2}, Failing{"comm_rank", 2}, Failing{"is_intercommunicator", 1},
        Failing{"is_within_world", 1}}) {
    job::FakeJob job(kRanks);
    job.fail({1, name, time});
    const auto ends =
        run(job, [](FakeProcess& process) { EXPECT_TRUE(process.ialltoall(kWorld)); });
    for (const End& end : ends) EXPECT_TRUE(end.good) << name;
  }
}

TEST_F(ThreadsTest, AnMpiLibraryWithoutThreadsIsWarnedOfOnce) {
  provides_threads = false;
  job::FakeJob job(kRanks);
  const auto ends = run(job, [](FakeProcess& process) { EXPECT_FALSE(process.ialltoall(kWorld)); });
  ASSERT_EQ(ends[0].logged.size(), 1u);
  EXPECT_THAT(ends[0].logged[0], HasSubstr("MPI_THREAD_MULTIPLE"));
  EXPECT_TRUE(ends[1].logged.empty() && ends[1].good);
}

TEST_F(ThreadsTest, GpuMemoryThatMayOccurOnOneRankKeepsNonblockingCallsOfAllWithTheLibrary) {
  options.push_back("device_memory=on");
  job::FakeJob job(kRanks);
  const auto ends = run(job, [](FakeProcess& process) { EXPECT_FALSE(process.ialltoall(kWorld)); });
  for (const End& end : ends) EXPECT_TRUE(end.good);
  ASSERT_EQ(ends[0].logged.size(), 1u);
  EXPECT_THAT(ends[0].logged[0], HasSubstr("no effect where GPU memory may be passed"));
}

// ---- finishing ---------------------------------------------------------------------------------

TEST_F(SessionTest, StatisticsOfAllRanksAreWrittenByTheFirst) {
  options.push_back("stats=" + path("stats.json"));
  job::FakeJob job(kRanks);
  run(job, [](FakeProcess& process) { process.alltoall(kWorld); });
  std::ifstream file(path("stats.json"));
  const std::string text(std::istreambuf_iterator<char>(file), {});
  EXPECT_THAT(text, HasSubstr("\"ranks\": 3"));
}

TEST_F(SessionTest, StatisticsAreWrittenWhereNothingIsAccelerated) {
  options.push_back("stats=" + path("stats.json"));
  options.push_back("disable=on");
  job::FakeJob job(kRanks);
  run(job, [](FakeProcess& process) { process.alltoall(kWorld); });
  std::ifstream file(path("stats.json"));
  const std::string text(std::istreambuf_iterator<char>(file), {});
  EXPECT_THAT(text, HasSubstr("\"exchanges\": 0"));
}

TEST_F(SessionTest, ASummaryIsWrittenByTheFirstRank) {
  options.push_back("summary=" + path("summary.txt"));
  job::FakeJob job(kRanks);
  run(job, [](FakeProcess& process) { process.alltoall(kWorld); });
  std::ifstream file(path("summary.txt"));
  const std::string text(std::istreambuf_iterator<char>(file), {});
  EXPECT_THAT(text, HasSubstr("summary of rank 0 of 3, at MPI_Finalize"));
}

TEST_F(SessionTest, ASummaryThatCannotBeWrittenIsWarnedOf) {
  options.push_back("summary=/nonexistent/summary.txt");
  job::FakeJob job(kRanks);
  const auto ends = run(job, [](FakeProcess& process) { process.alltoall(kWorld); });
  ASSERT_EQ(ends[0].logged.size(), 1u);
  EXPECT_THAT(ends[0].logged[0], HasSubstr("/nonexistent/summary.txt"));
}

TEST_F(SessionTest, StatisticsThatCannotBeGatheredAreWarnedOf) {
  options.push_back("stats=" + path("stats.json"));
  job::FakeJob sound(kRanks);
  const auto body = [](FakeProcess& process) { process.alltoall(kWorld); };
  run(sound, body);
  std::filesystem::remove(path("stats.json"));
  job::FakeJob job(kRanks);
  job.fail({0, "allgather", sound.calls(0)["allgather"]});
  const auto ends = run(job, body);
  for (const End& end : ends) EXPECT_TRUE(end.good);
  EXPECT_FALSE(std::filesystem::exists(path("stats.json")));
  ASSERT_EQ(ends[0].logged.size(), 1u);
  EXPECT_THAT(ends[0].logged[0],
              HasSubstr("ALLEMANDE_STATS: the ranks' counters cannot be gathered"));
}

TEST_F(SessionTest, StatisticsThatCannotBeWrittenAreWarnedOf) {
  options.push_back("stats=/nonexistent/stats.json");
  job::FakeJob job(kRanks);
  const auto ends = run(job, [](FakeProcess& process) { process.alltoall(kWorld); });
  ASSERT_EQ(ends[0].logged.size(), 1u);
  EXPECT_THAT(ends[0].logged[0], HasSubstr("/nonexistent/stats.json"));
}

TEST_F(SessionTest, CallsAfterTheEndPassThrough) {
  job::FakeJob job(kRanks);
  run(job, [](FakeProcess& process) {
    process.alltoall(kWorld);
    process.session->finish();
    communicator::FakeBlocks blocks(kRanks, process.rank, 200);
    EXPECT_EQ(process.session->alltoall(blocks.call(process.ops, kWorld)), std::nullopt);
  });
}

}  // namespace
}  // namespace alm::session

// Calls on communicators of several ranks: the bytes arrive, and where one rank fails nobody waits
// for it.
#include "communicator/communicator.h"

#include <gmock/gmock.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "communicator/communicator_test_calls.h"

namespace alm::communicator {
namespace {

using ::testing::HasSubstr;

TEST(Communicator, BlocksOfAllSizesArrive) {
  for (const auto& configure : {over_udp, over_messages}) {
    job::FakeJob job(kRanks);
    on_communicator(job, configure, [](FakeRank& rank, Communicator& comm) {
      for (const std::uint64_t bytes : {1, 8, 300, 5000, 100'000}) {
        FakeBlocks blocks(kRanks, rank.rank, bytes);
        EXPECT_EQ(comm.alltoall(blocks.call(rank.ops, kComm)), job::kMpiSuccess);
        EXPECT_TRUE(blocks.arrived()) << bytes;
        blocks.clear();
        EXPECT_EQ(comm.alltoall_blocks(blocks.block_call(rank.ops, kComm)), job::kMpiSuccess);
        EXPECT_TRUE(blocks.arrived()) << bytes << " as blocks";
      }
    });
  }
}

TEST(Communicator, NothingToSendPassesThrough) {
  job::FakeJob job(kRanks);
  on_communicator(job, over_udp, [](FakeRank& rank, Communicator& comm) {
    FakeBlocks blocks(kRanks, rank.rank, 0);
    EXPECT_EQ(comm.alltoall(blocks.call(rank.ops, kComm)), std::nullopt);
  });
}

TEST(Communicator, TrialsTakeTheLibrarysOwnWayInTurn) {
  for (const auto& configure : {on_trial, over_messages_on_trial}) {
    job::FakeJob job(kRanks);
    on_communicator(job, configure, [](FakeRank& rank, Communicator& comm) {
      FakeBlocks blocks(kRanks, rank.rank, 200);
      for (int call = 0; call < 120; ++call) {
        blocks.clear();
        ASSERT_EQ(comm.alltoall(blocks.call(rank.ops, kComm)), job::kMpiSuccess);
        ASSERT_TRUE(blocks.arrived());
        blocks.clear();
        ASSERT_EQ(comm.alltoall_blocks(blocks.block_call(rank.ops, kComm)), job::kMpiSuccess);
        ASSERT_TRUE(blocks.arrived());
      }
      EXPECT_GT(rank.job.stats.record().native, 0u);
      EXPECT_GT(rank.job.stats.record().exchanges, 0u);
    });
  }
}

// So many calls over messages on trial, or until the library is told to take `pairwise`: how often
// each rank's was.
std::vector<int> told_pairwise(job::FakeJob& job, int calls, const Configure& configure) {
  const auto all = [&](FakeRank& rank) {
    over_messages_on_trial(rank);
    configure(rank);
  };
  on_communicator(job, all, [&](FakeRank& rank, Communicator& comm) {
    FakeBlocks blocks(kRanks, rank.rank, 2000);
    for (int call = 0; call < calls && job.calls(rank.rank)["told pairwise"] == 0; ++call) {
      blocks.clear();
      ASSERT_EQ(comm.alltoall(blocks.call(rank.ops, kComm)), job::kMpiSuccess);
      ASSERT_TRUE(blocks.arrived()) << call;
    }
  });
  EXPECT_FALSE(job.hung());
  std::vector<int> told;
  for (std::uint32_t rank = 0; rank < kRanks; ++rank)
    told.push_back(job.calls(rank)["told pairwise"]);
  return told;
}

void may_be_told_pairwise(FakeRank& rank) {
  rank.ops.may_be_told.add(tuning::LibraryAlgorithm::kPairwise);
}

TEST(Communicator, AlgorithmsOfTheLibraryAreOnTrialWhereUdpCannotGo) {
  job::FakeJob job(kRanks);
  const auto told = told_pairwise(job, 100'000, may_be_told_pairwise);
  EXPECT_GT(told[0], 0);
  EXPECT_THAT(told, testing::Each(told[0]));
}

TEST(Communicator, WhatOneRanksLibraryCannotBeToldNoneIsTold) {
  job::FakeJob job(kRanks);
  const auto told = told_pairwise(job, 3000, [](FakeRank& rank) {
    if (rank.rank != 1) may_be_told_pairwise(rank);
  });
  EXPECT_THAT(told, testing::Each(0));
}

TEST(Communicator, WhereTellingFailsOnOneRankNoneTakesTheAlgorithm) {
  job::FakeJob job(kRanks);
  job.fail({.rank = 1, .call = "tell"});
  EXPECT_THAT(told_pairwise(job, 3000, may_be_told_pairwise), testing::Each(0));
}

TEST(Communicator, DecisionsAreRecordedByKeys) {
  job::FakeJob job(2);
  std::vector<tuning::Decision> recorded;
  run_fake_ranks(job, [&](FakeRank& rank) {
    on_trial(rank);
    auto comm = Communicator::create(rank.job, kComm, 2, rank.rank);
    FakeBlocks blocks(2, rank.rank, 200);
    for (int call = 0; call < 300; ++call) {
      ASSERT_EQ(comm->alltoall(blocks.call(rank.ops, kComm)), job::kMpiSuccess);
    }
    static_cast<void>(rank.ops.barrier(kComm, base::kSecond));
    comm->close();
    if (rank.rank == 0) recorded = rank.job.recorded();
  });
  ASSERT_EQ(recorded.size(), 1u);
  ASSERT_EQ(recorded[0].ways.size(), 2u);
  EXPECT_EQ(recorded[0].ways[0].key, "udp sync-shuffle@balanced");
  EXPECT_EQ(recorded[0].ways[1].key, "library");
  EXPECT_THAT(recorded[0].chosen, testing::AnyOf("library", "udp sync-shuffle@balanced"));
  EXPECT_EQ(recorded[0].least_bytes, 128u);
}

// That blocks of 128 to 255 bytes go this way, and not the model's.
void decide_before(FakeRank& rank, std::uint32_t ranks, const std::string& model,
                   const std::string& key) {
  rank.job.shape = {"1", "Fake MPI 1", "00"};
  tuning::Decision known;
  known.shape = rank.job.shape;
  known.calls = std::string(tuning::kCallsOfOneSize);
  known.ranks = known.hosts = ranks;
  known.least_bytes = 128;
  known.most_bytes = 255;
  known.chosen = key;
  known.why = "the fastest of 2";
  known.ways = {{model, "worded otherwise", 100, 8, 1}, {key, "worded otherwise, too", 50, 8, 0}};
  rank.job.known = {known};
}

TEST(Communicator, DecisionsAreTakenOverByTheirKeys) {
  job::FakeJob job(2);
  const auto decided = [](FakeRank& rank) {
    on_trial(rank);
    decide_before(rank, 2, "udp sync-shuffle@balanced", "library");
  };
  on_communicator(job, decided, [](FakeRank& rank, Communicator& comm) {
    FakeBlocks blocks(2, rank.rank, 200);
    ASSERT_EQ(comm.alltoall(blocks.call(rank.ops, kComm)), job::kMpiSuccess);
    EXPECT_EQ(rank.job.stats.record().native, 1u) << "as decided before";
    EXPECT_EQ(rank.has_logged("as decided before"), rank.rank == 0);
  });
}

TEST(Communicator, MessagesInEveryOrderBringTheBlocks) {
  for (const std::uint32_t ranks : {3u, 8u}) {
    for (const char* key : {"mpi all", "mpi pairwise", "mpi few", "mpi bruck"}) {
      job::FakeJob job(ranks);
      const auto decided = [&](FakeRank& rank) {
        over_messages_on_trial(rank);
        // Many ranks begin with few messages of many blocks (ways/repertoire.h).
        decide_before(rank, ranks, ranks < 8 ? "mpi sync-shuffle@balanced" : "mpi bruck", key);
      };
      on_communicator(job, decided, [&](FakeRank& rank, Communicator& comm) {
        for (int call = 0; call < 3; ++call) {
          FakeBlocks blocks(ranks, rank.rank, 200);
          ASSERT_EQ(comm.alltoall(blocks.call(rank.ops, kComm)), job::kMpiSuccess);
          EXPECT_TRUE(blocks.arrived()) << key << " on " << ranks;
        }
        EXPECT_EQ(rank.has_logged("as decided before"), rank.rank == 0) << key;
        EXPECT_GT(rank.job.stats.record().mpi_messages, 0u) << key;
      });
    }
  }
}

// What the ranks' calls have come to. `code` is that of the first that failed.
struct Seen {
  int code = job::kMpiSuccess;
  int made = 0;  // with the one that failed
  std::string error;
  std::map<std::string, int> before, after;  // calls of MPI
};

// So many calls, until one fails.
std::vector<Seen> repeat(job::FakeJob& job, const Configure& configure, int calls, bool as_blocks,
                         job::TypeHandle type = 0) {
  std::vector<Seen> seen(job.ranks());
  run_fake_ranks(job, [&](FakeRank& rank) {
    configure(rank);
    auto comm = Communicator::create(rank.job, kComm, job.ranks(), rank.rank);
    ASSERT_TRUE(comm->accelerates()) << comm->obstacle();
    Seen& mine = seen[rank.rank];
    mine.before = job.calls(rank.rank);
    FakeBlocks blocks(job.ranks(), rank.rank, 200);
    for (; mine.made < calls && mine.code == job::kMpiSuccess; ++mine.made) {
      mine.code = as_blocks ? *comm->alltoall_blocks(blocks.block_call(rank.ops, kComm, type))
                            : *comm->alltoall(blocks.call(rank.ops, kComm, type));
    }
    if (!rank.ops.raised().empty()) mine.error = rank.ops.raised().front();
    mine.after = job.calls(rank.rank);
    rank.ops.leave();
    comm->close();
  });
  return seen;
}

TEST(Communicator, ARankThatCannotPackIsNamedOnAll) {
  for (const auto& configure : {over_udp, over_messages}) {
    job::FakeJob job(kRanks);
    job.fail({1, "pack", 2});
    for (const Seen& seen : repeat(job, configure, 5, false, 7))
      EXPECT_EQ(seen.code, job::kFakeRaised);
    EXPECT_FALSE(job.hung());
  }
  job::FakeJob job(kRanks);
  job.fail({1, "pack", 2});
  for (const Seen& seen : repeat(job, over_udp, 5, false, 7)) {
    EXPECT_THAT(seen.error, HasSubstr("rank 1 on h1"));
  }
}

TEST(Communicator, AnErrorInUnpackingIsThatRanksAlone) {
  job::FakeJob job(kRanks);
  job.fail({1, "unpack", 5});
  const auto seen = repeat(job, over_udp, 5, false, 7);
  EXPECT_EQ(seen[0].code, job::kMpiSuccess);
  EXPECT_EQ(seen[1].code, job::kFakeError);
}

// Collectives that calls make, made to fail on one rank: all ranks end alike, by an error where
// what failed is not confirmed by another collective.
void expect_all_alike(const Configure& configure, int calls, bool as_blocks) {
  job::FakeJob sound(kRanks);
  const Seen reference = repeat(sound, configure, calls, as_blocks).front();
  ASSERT_EQ(reference.code, job::kMpiSuccess);
  int ended = 0;
  for (const char* name : {"alltoall", "allreduce_min"}) {
    const auto count = [&](const std::map<std::string, int>& made) {
      const auto found = made.find(name);
      return found == made.end() ? 0 : found->second;
    };
    // The first few: the times at which the rest are made depend on how long calls take.
    const int first = count(reference.before) + 1;
    for (int time = first; time <= std::min(count(reference.after), first + 3); ++time) {
      job::FakeJob job(kRanks);
      const std::uint32_t rank = static_cast<std::uint32_t>(time) % kRanks;
      job.fail({rank, name, time});
      const auto seen = repeat(job, configure, calls, as_blocks);
      const bool failed = seen.front().code != job::kMpiSuccess;
      // What fails at the end of a rank's last call, others have no call left to hear of.
      const bool heard = seen[rank].made < calls;
      for (const Seen& one : seen) {
        EXPECT_TRUE(!heard || (one.code != job::kMpiSuccess) == failed)
            << name << " " << time << " on rank " << rank << ", call " << seen[rank].made;
      }
      EXPECT_FALSE(job.hung()) << name << " " << time;
      if (failed) ++ended;
    }
  }
  EXPECT_GT(ended, 0);
}

TEST(Communicator, AnAgreementOfATrialThatFailsOnOneRankEndsTheCallsOfAll) {
  expect_all_alike(on_trial, 40, false);
}

TEST(Communicator, AnAgreementOverMessagesThatFailsOnOneRankEndsTheCallsOfAll) {
  expect_all_alike(over_messages_on_trial, 40, false);
}

TEST(Communicator, AnAgreementOnBlocksThatFailsOnOneRankEndsTheCallsOfAll) {
  expect_all_alike(on_trial, 40, true);
  expect_all_alike(over_messages_on_trial, 40, true);
}

TEST(Communicator, SizesThatCannotBeComparedEndTheCallsOfAll) {
  expect_all_alike(over_messages, 3, true);
}

TEST(Communicator, SizesThatDifferAreNamedOnAllRanks) {
  job::FakeJob job(kRanks);
  std::vector<std::string> errors(kRanks);
  on_communicator(job, over_messages, [&](FakeRank& rank, Communicator& comm) {
    FakeBlocks blocks(kRanks, rank.rank, 200);
    courier::BlockCall call = blocks.block_call(rank.ops, kComm);
    if (rank.rank == 2) blocks.out[0].count = 50;
    EXPECT_EQ(comm.alltoall_blocks(call), job::kFakeRaised);
    errors[rank.rank] = rank.ops.raised().front();
    EXPECT_EQ(comm.failure().error().code, base::ErrorCode::kBadInput);
  });
  for (const std::string& error : errors) {
    EXPECT_THAT(error, HasSubstr("rank 2 on h2 sends 50 bytes to rank 0 on h0, which expects 200"));
  }
}

// Collectives compare the sizes, and tell all ranks which differ.
TEST(Communicator, SizesThatDifferEndTheCallOnAllRanksWhateverElseFailsOnOne) {
  for (const auto& [name, times] :
       std::map<std::string, int>{{"alltoall", 1}, {"allreduce_min", 2}}) {
    for (int time = 1; time <= times; ++time) {
      for (std::uint32_t failing = 0; failing < kRanks; ++failing) {
        job::FakeJob job(kRanks);
        on_communicator(job, over_messages, [&, name = name](FakeRank& rank, Communicator& comm) {
          static_cast<void>(rank.ops.barrier(kComm, base::kSecond));
          if (rank.rank == 0) job.fail({failing, name, job.calls(failing)[name] + time});
          static_cast<void>(rank.ops.barrier(kComm, base::kSecond));
          FakeBlocks blocks(kRanks, rank.rank, 200);
          courier::BlockCall call = blocks.block_call(rank.ops, kComm);
          if (rank.rank == 2) blocks.out[0].count = 50;
          EXPECT_EQ(comm.alltoall_blocks(call), job::kFakeRaised)
              << name << " " << time << " on rank " << failing << ": rank " << rank.rank;
          EXPECT_TRUE(comm.failure().happened());
        });
        EXPECT_FALSE(job.hung());
      }
    }
  }
}

TEST(Communicator, ARankWithoutMemoryIsNamedOnAll) {
  for (const bool as_blocks : {false, true}) {
    job::FakeJob job(kRanks);
    job.fail({1, "pack", 2, true});
    const auto seen = repeat(job, over_udp, 5, as_blocks, 7);
    for (const Seen& one : seen) {
      EXPECT_EQ(one.code, job::kFakeRaised);
      EXPECT_THAT(one.error, HasSubstr("rank 1 on h1"));
    }
    EXPECT_THAT(seen[1].error, HasSubstr("no memory for a copy of what is exchanged"));
    EXPECT_FALSE(job.hung());
  }
}

TEST(Communicator, AFailedOneRaisesTheSameErrorAgain) {
  job::FakeJob job(2);
  job.fail({1, "pack", 1});
  on_communicator(job, nonblocking, [](FakeRank& rank, Communicator& comm) {
    FakeBlocks blocks(2, rank.rank, 200);
    EXPECT_EQ(comm.alltoall(blocks.call(rank.ops, kComm, 7)), job::kFakeRaised);
    EXPECT_TRUE(comm.failure().happened());
    job::RequestHandle request = 0;
    EXPECT_EQ(comm.alltoall_blocks(blocks.block_call(rank.ops, kComm)), job::kFakeRaised);
    EXPECT_EQ(comm.start(blocks.call(rank.ops, kComm), request), job::kFakeRaised);
    for (const std::string& error : rank.ops.raised()) EXPECT_EQ(error, rank.ops.raised().front());
  });
}

TEST(Communicator, MessagesThatOneRankCannotHaveAreTakenByNone) {
  job::FakeJob job(kRanks);
  job.fail({1, "make_point_to_point", 1});
  on_communicator(job, on_trial, [](FakeRank& rank, Communicator& comm) {
    FakeBlocks blocks(kRanks, rank.rank, 200);
    for (int call = 0; call < 200; ++call) {
      ASSERT_EQ(comm.alltoall(blocks.call(rank.ops, kComm)), job::kMpiSuccess);
    }
    EXPECT_EQ(rank.job.stats.record().mpi_messages, 0u);
  });
  EXPECT_FALSE(job.hung());
}

}  // namespace
}  // namespace alm::communicator

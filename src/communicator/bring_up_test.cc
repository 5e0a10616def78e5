// Bringing up communicators of several ranks: all of them come to the same end, whatever fails on
// one.
#include "communicator/bring_up.h"

#include <gmock/gmock.h>

#include <map>
#include <set>
#include <string>

#include "communicator/communicator_test_ranks.h"
#include "topology/generate.h"

namespace alm::communicator {
namespace {

using ::testing::HasSubstr;

// How bringing up has ended on a rank.
struct End {
  bool accelerates = false, failed = false;
  bool exchanged = false;  // it has, and every byte was right
  std::string obstacle;
  std::map<std::string, int> calls;
};
using Configure = std::function<void(FakeRank&)>;

std::vector<End> bring_up(job::FakeJob& job, const Configure& configure = {},
                          std::uint32_t ranks_per_host = 1, bool exchange = true) {
  std::vector<End> ends(job.ranks());
  run_fake_ranks(
      job,
      [&](FakeRank& rank) {
        if (configure) configure(rank);
        Communicator made(rank.job, job::FakeJob::kWorld, job.ranks(), rank.rank);
        made.bring_up();
        End& end = ends[rank.rank];
        end.calls = job.calls(rank.rank);
        end.accelerates = made.accelerates();
        end.obstacle = made.obstacle();
        if (end.accelerates && exchange) {
          FakeBlocks blocks(job.ranks(), rank.rank, 3000);
          end.exchanged =
              made.alltoall(blocks.call(rank.ops, job::FakeJob::kWorld)) == job::kMpiSuccess &&
              blocks.arrived();
        }
        static_cast<void>(rank.ops.barrier(job::FakeJob::kWorld, base::kSecond));
        made.close();
      },
      ranks_per_host);
  return ends;
}

void expect_alike(const std::vector<End>& ends, const std::string& what) {
  for (const End& end : ends) {
    EXPECT_EQ(end.accelerates, ends.front().accelerates) << what;
    EXPECT_EQ(end.obstacle, ends.front().obstacle) << what;
    EXPECT_EQ(end.exchanged, ends.front().exchanged) << what;
  }
}

TEST(BringUp, RanksOnSeveralHostsExchangeOverUdp) {
  job::FakeJob job(kRanks);
  for (const End& end : bring_up(job)) {
    EXPECT_TRUE(end.accelerates && end.exchanged) << end.obstacle;
    EXPECT_EQ(end.obstacle, "");
    EXPECT_EQ(end.calls.count("make_point_to_point"), 0u);
  }
}

// Schedules then see leaf switches, and nothing above them.
TEST(BringUp, AClusterFileThatIsNoTreeIsWorkedWith) {
  job::FakeJob job(kRanks);
  const auto cluster = topology::build_two_level(2, 2, 2);
  const auto ends = bring_up(job, [&](FakeRank& rank) { rank.job.cluster = cluster; });
  for (const End& end : ends) {
    EXPECT_TRUE(end.accelerates && end.exchanged) << end.obstacle;
    EXPECT_EQ(end.obstacle, "");
  }
}

TEST(BringUp, TheTransportMpiTakesMessages) {
  job::FakeJob job(kRanks);
  const auto ends = bring_up(job, [](FakeRank& rank) { rank.job.options.transport = "mpi"; });
  for (const End& end : ends) {
    EXPECT_TRUE(end.accelerates && end.exchanged) << end.obstacle;
    EXPECT_EQ(end.calls.at("make_point_to_point"), 1);
  }
}

TEST(BringUp, RanksOfOneHostPassThrough) {
  job::FakeJob job(kRanks);
  for (const End& end : bring_up(job, {}, kRanks)) {
    EXPECT_FALSE(end.accelerates);
    EXPECT_THAT(end.obstacle, HasSubstr("its ranks are all on h0"));
  }
}

TEST(BringUp, AHostWithoutSocketsSendsAllToMessages) {
  job::FakeJob job(kRanks);
  const auto ends = bring_up(job, [](FakeRank& rank) {
    if (rank.rank == 1) rank.job.options.interface = "no-such-interface";
  });
  expect_alike(ends, "sockets");
  EXPECT_TRUE(ends[0].accelerates && ends[0].exchanged);
  EXPECT_THAT(ends[0].obstacle, HasSubstr("UDP cannot be used: h1: "));
}

TEST(BringUp, AHostWithoutRandomBytesSendsAllToMessages) {
  job::FakeJob job(kRanks);
  const auto ends = bring_up(job, [](FakeRank& rank) {
    if (rank.rank == 2) {
      rank.job.random_bytes = [](void*, std::size_t, unsigned) -> ssize_t { return -1; };
    }
  });
  expect_alike(ends, "random bytes");
  EXPECT_TRUE(ends[0].accelerates && ends[0].exchanged);
  EXPECT_THAT(ends[0].obstacle, HasSubstr("h2: no random bytes for a key"));
}

TEST(BringUp, ARankThatRefusesTakesAllWithIt) {
  job::FakeJob job(kRanks);
  std::vector<std::string> obstacles(kRanks);
  run_fake_ranks(job, [&](FakeRank& rank) {
    Communicator made(rank.job, job::FakeJob::kWorld, kRanks, rank.rank);
    made.bring_up(rank.rank == 1 ? "it has no memory" : "");
    EXPECT_FALSE(made.accelerates());
    obstacles[rank.rank] = made.obstacle();
  });
  for (const std::string& obstacle : obstacles) {
    EXPECT_EQ(obstacle, "rank 1 on h1: it has no memory");
  }
}

// Every collective of a successful way, made to fail on each rank in turn.
void expect_alike_whatever_fails(const Configure& configure, std::uint32_t ranks,
                                 std::uint32_t ranks_per_host, bool exchange) {
  job::FakeJob sound(ranks);
  const auto calls = bring_up(sound, configure, ranks_per_host, exchange).front().calls;
  for (const char* name : {"allgather", "allreduce_min", "make_point_to_point"}) {
    const auto found = calls.find(name);
    const int times = found == calls.end() ? 0 : found->second;
    for (int time = 1; time <= times; ++time) {
      for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        job::FakeJob job(ranks);
        job.fail({rank, name, time});
        const std::string what =
            std::string(name) + " " + std::to_string(time) + " on rank " + std::to_string(rank);
        expect_alike(bring_up(job, configure, ranks_per_host, exchange), what);
        EXPECT_FALSE(job.hung()) << what;
      }
    }
  }
}

TEST(BringUp, WhateverFailsOnOneRankOverUdpAllRanksEndAlike) {
  expect_alike_whatever_fails({}, 2, 1, true);
}

TEST(BringUp, WhateverFailsOnOneRankOverMessagesAllRanksEndAlike) {
  expect_alike_whatever_fails([](FakeRank& rank) { rank.job.options.transport = "mpi"; }, kRanks, 1,
                              true);
}

TEST(BringUp, WhateverFailsOnOneRankWhereHostsAreSharedAllRanksEndAlike) {
  expect_alike_whatever_fails({}, 4, 2, false);
}

void two_leaders(FakeRank& rank) { rank.job.options.leaders_per_host = "2"; }

TEST(BringUp, WhateverFailsOnOneRankWhereHostsHaveTwoLeadersAllRanksEndAlike) {
  expect_alike_whatever_fails(two_leaders, 4, 2, false);
}

// How many set numbers a driver has left.
int numbers_left(io::Driver& driver) {
  int count = 0;
  while (driver.reserve_set() != 0) ++count;
  return count;
}

TEST(BringUp, SetNumbersAreGivenBackWhateverFails) {
  for (const auto& [call, occurrence] : std::map<std::string, std::set<int>>{
           {"allgather", {1, 2}}, {"allreduce_min", {1, 2, 3, 4, 5}}}) {
    for (const int time : occurrence) {
      job::FakeJob job(2);
      job.fail({1, call, time});
      run_fake_ranks(job, [&, name = call](FakeRank& rank) {
        rank.job.options.transport = "udp";
        Communicator made(rank.job, job::FakeJob::kWorld, 2, rank.rank);
        made.bring_up();
        if (!made.accelerates()) {
          EXPECT_EQ(numbers_left(*rank.job.driver().value()), 65535)
              << name << " " << time << " on rank " << rank.rank;
        }
        static_cast<void>(rank.ops.barrier(job::FakeJob::kWorld, base::kSecond));
        made.close();
      });
    }
  }
}

TEST(BringUp, WhereOneLeaderHasNoSocketsHostLeadersAreTheOnlyOnes) {
  job::FakeJob job(4);
  run_fake_ranks(
      job,
      [](FakeRank& rank) {
        two_leaders(rank);
        if (rank.rank == 3) rank.job.options.interface = "no-such-interface";
        Communicator made(rank.job, job::FakeJob::kWorld, 4, rank.rank);
        made.bring_up();
        EXPECT_TRUE(made.accelerates());
        EXPECT_EQ(made.obstacle(), "");
        EXPECT_EQ(rank.has_logged("one leader per host: h1: "), rank.rank == 0);
        // The second leader of the other host has given its numbers back, the host leaders have one
        // in use.
        if (rank.rank < 3) {
          EXPECT_EQ(numbers_left(*rank.job.driver().value()), rank.rank == 1 ? 65535 : 65534);
        }
        static_cast<void>(rank.ops.barrier(job::FakeJob::kWorld, base::kSecond));
        made.close();
      },
      2);
}

TEST(BringUp, WithoutNumbersLeftAllTakeMessages) {
  job::FakeJob job(2);
  const auto ends = bring_up(job, [](FakeRank& rank) {
    if (rank.rank == 1) numbers_left(*rank.job.driver().value());
  });
  expect_alike(ends, "numbers");
  EXPECT_THAT(ends[0].obstacle, HasSubstr("h1: too many communicators are in use"));
  EXPECT_TRUE(ends[0].exchanged);
}

}  // namespace
}  // namespace alm::communicator

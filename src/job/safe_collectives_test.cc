#include "job/safe_collectives.h"

#include <gtest/gtest.h>

#include "job/fake_mpi_test_ops.h"

namespace alm::job {
namespace {

constexpr std::uint32_t kRanks = 3;

struct Record {
  std::uint64_t rank = 0;
};

// What a rank has seen of a gather, a minimum and a question.
struct Seen {
  bool gathered = false, compared = false, everywhere = false;
  std::vector<Record> all = std::vector<Record>(kRanks);
  std::uint64_t least = 0;
};

std::vector<Seen> run(FakeJob& job, std::uint64_t unwilling = kRanks) {
  std::vector<Seen> seen(kRanks);
  run_ranks(job, [&](FakeMpiOps& ops, std::uint32_t rank) {
    SafeCollectives collectives(ops, FakeJob::kWorld);
    Seen& mine = seen[rank];
    mine.gathered = collectives.gather(Record{rank + 10}, mine.all).ok();
    mine.least = rank + 5;
    mine.compared = collectives.least(mine.least).ok();
    mine.everywhere = collectives.on_all(rank != unwilling);
  });
  return seen;
}

TEST(SafeCollectives, EveryRankHasWhatAllHaveSaid) {
  FakeJob job(kRanks);
  for (const Seen& seen : run(job)) {
    EXPECT_TRUE(seen.gathered && seen.compared && seen.everywhere);
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) EXPECT_EQ(seen.all[rank].rank, rank + 10);
    EXPECT_EQ(seen.least, 5u);
  }
}

TEST(SafeCollectives, OneRankThatIsNotWillingIsKnownToAll) {
  FakeJob job(kRanks);
  for (const Seen& seen : run(job, 1)) EXPECT_FALSE(seen.everywhere);
}

TEST(SafeCollectives, AGatherThatFailsOnOneRankFailsOnAll) {
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    FakeJob job(kRanks);
    job.fail({rank, "allgather", 1});
    for (const Seen& seen : run(job)) {
      EXPECT_FALSE(seen.gathered);
      EXPECT_TRUE(seen.compared && seen.everywhere) << "what comes after is as before";
    }
  }
}

TEST(SafeCollectives, AMinimumThatFailsOnOneRankFailsOnAll) {
  FakeJob job(kRanks);
  job.fail({2, "allreduce_min", 2});  // the first confirms the gather
  for (const Seen& seen : run(job)) EXPECT_TRUE(seen.gathered && !seen.compared);
}

TEST(SafeCollectives, AConfirmationThatFailsLeavesTheRanksAlike) {
  FakeJob job(kRanks);
  job.fail({1, "allreduce_min", 1});
  for (const Seen& seen : run(job)) {
    EXPECT_TRUE(seen.gathered && seen.compared && seen.everywhere);
  }
  EXPECT_FALSE(job.hung());
}

}  // namespace
}  // namespace alm::job

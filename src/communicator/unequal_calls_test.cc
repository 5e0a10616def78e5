// Two ranks do not agree on the size of a block while ways are on trial, and the program goes on:
// ranks that have all they need hear of it later, and nobody waits for anybody till then.
#include <gmock/gmock.h>

#include "communicator/communicator_test_ranks.h"

namespace alm::communicator {
namespace {

using ::testing::HasSubstr;

constexpr job::CommHandle kEverybody = job::FakeJob::kWorld;
constexpr std::uint32_t kFour = 4;
constexpr int kCallsMore = 12;

struct Wrong {
  int call = 1;             // counted from 1
  std::uint64_t bytes = 0;  // of every block but one in that call, from rank 0 to rank 1
  std::int64_t sent = 0, expected = 0;
  bool in_pairs = false;  // ranks 0 and 1 have nothing for ranks 2 and 3
};

void disagree(const Wrong& wrong) {
  job::FakeJob job(kFour);
  run_fake_ranks(job, [&](FakeRank& rank) {
    rank.job.options.trials = true;
    auto comm = Communicator::create(rank.job, kEverybody, job.ranks(), rank.rank);
    ASSERT_TRUE(comm->accelerates()) << comm->obstacle();
    FakeBlocks blocks(kFour, rank.rank, wrong.bytes);
    for (int made = 1; made <= wrong.call + kCallsMore; ++made) {
      const courier::BlockCall call = blocks.block_call(rank.ops, kEverybody);
      for (std::uint32_t other = 0; wrong.in_pairs && other < kFour; ++other) {
        if (other / 2 != rank.rank / 2) blocks.out[other].count = blocks.in[other].count = 0;
      }
      if (made == wrong.call && rank.rank == 0) blocks.out[1].count = wrong.sent;
      if (made == wrong.call && rank.rank == 1) blocks.in[0].count = wrong.expected;
      EXPECT_NE(comm->alltoall_blocks(call), job::kFakeDeserted);
    }
    // Where the library has carried that call, it has not compared.
    if (comm->failure().happened()) {
      EXPECT_THAT(comm->failure().error().message, HasSubstr("MPI_Alltoallv failed: "));
      EXPECT_EQ(comm->failure().error().code, base::ErrorCode::kBadInput);
    }
    static_cast<void>(rank.ops.barrier(kEverybody, base::kSecond));
    comm->close();
  });
  EXPECT_FALSE(job.hung()) << "call " << wrong.call << " of " << wrong.bytes << " bytes";
}

TEST(UnequalCalls, LeaveNobodyWaitingInACollective) {
  for (const std::uint64_t bytes : {200, 20'000}) {
    const auto expected = static_cast<std::int64_t>(bytes);
    for (int call = 1; call <= 10; ++call) disagree({call, bytes, expected - 8, expected});
  }
}

// Ranks 2 and 3 always have all they need.
TEST(UnequalCalls, LeaveNobodyWaitingWhereTheOthersExchangeApart) {
  for (int call = 1; call <= 10; ++call) disagree({call, 200, 192, 200, true});
}

// Rank 0 has left such a call before it hears of it: it sends nothing to rank 1.
TEST(UnequalCalls, LeaveNobodyWaitingWhereNothingIsSent) {
  for (int call = 1; call <= 10; ++call) disagree({call, 200, 0, 200});
}

// Rank 1 has left such a call before it hears of it.
TEST(UnequalCalls, LeaveNobodyWaitingWhereNothingIsExpected) {
  for (int call = 1; call <= 10; ++call) disagree({call, 200, 200, 0});
}

}  // namespace
}  // namespace alm::communicator

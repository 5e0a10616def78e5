#include "session/session_tally.h"

#include <gtest/gtest.h>

#include <chrono>

#include "job/fake_mpi_test_ops.h"
#include "job/log.h"

namespace alm::session {
namespace {

// The lowest waits itself, until its reason has been forwarded.
TEST(Aborts, OtherRanksAreSilentUntilTheLowestHasEndedTheJob) {
  job::FakeJob fake(2);
  job::FakeMpiOps ops(fake, 1);
  job::Job job(ops);
  job.rank = 1;
  const auto begin = std::chrono::steady_clock::now();
  let_lower_ranks_abort_first(job);
  EXPECT_GT(std::chrono::steady_clock::now() - begin, job::kForwarding);
}

}  // namespace
}  // namespace alm::session

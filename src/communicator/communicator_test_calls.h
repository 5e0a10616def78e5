// For tests: calls on a communicator that all ranks of a job have, however they are configured.
#pragma once

#include <gtest/gtest.h>

#include <functional>

#include "communicator/communicator_test_ranks.h"

namespace alm::communicator {

constexpr job::CommHandle kComm = job::FakeJob::kWorld;

using Configure = std::function<void(FakeRank&)>;
using Body = std::function<void(FakeRank&, Communicator&)>;

inline void on_communicator(job::FakeJob& job, const Configure& configure, const Body& body) {
  run_fake_ranks(job, [&](FakeRank& rank) {
    configure(rank);
    auto made = Communicator::create(rank.job, kComm, job.ranks(), rank.rank);
    ASSERT_TRUE(made->accelerates()) << made->obstacle();
    body(rank, *made);
    static_cast<void>(rank.ops.barrier(kComm, base::kSecond));
    made->close();
  });
}

inline void over_udp(FakeRank&) {}
inline void nonblocking(FakeRank& rank) {
  rank.job.options.progress = "thread";
  rank.job.agreement.threads = true;
}
inline void over_messages(FakeRank& rank) { rank.job.options.transport = "mpi"; }
inline void on_trial(FakeRank& rank) { rank.job.options.trials = true; }
inline void over_messages_on_trial(FakeRank& rank) {
  over_messages(rank);
  on_trial(rank);
}

}  // namespace alm::communicator

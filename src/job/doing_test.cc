#include "job/doing.h"

#include <gmock/gmock.h>

#include <memory>

namespace alm::job {
namespace {

using base::kMillisecond;
using ::testing::HasSubstr;

TEST(Doing, WhoUsesAProcessorComputes) {
  Doing doing;
  EXPECT_THAT(Doing::text(doing.now(1000 * kMillisecond, 0)), HasSubstr("its process answers"));
  EXPECT_THAT(Doing::text(doing.now(1100 * kMillisecond, 90 * kMillisecond)),
              HasSubstr("it computes"));
  EXPECT_THAT(Doing::text(doing.now(1200 * kMillisecond, 91 * kMillisecond)),
              HasSubstr("it sleeps"));
  EXPECT_THAT(Doing::text(doing.now(1201 * kMillisecond, 92 * kMillisecond)),
              HasSubstr("it sleeps"))
      << "so short a time tells nothing";
}

TEST(Doing, WhoIsInACallIsNamedWithIt) {
  Doing doing;
  {
    const Doing::InCall in(doing, "MPI_Alltoallw");
    EXPECT_EQ(Doing::text(doing.now()), "it is in MPI_Alltoallw");
    {
      const Doing::InCall inner(doing, "MPI_Finalize");
      EXPECT_EQ(Doing::text(doing.now()), "it is in MPI_Finalize");
    }
    EXPECT_EQ(Doing::text(doing.now()), "it is in MPI_Alltoallw");
  }
  EXPECT_THAT(Doing::text(doing.now()), Not(HasSubstr("MPI_")));
}

TEST(Doing, ThreadsThatCrossLeaveNoCallBehind) {
  Doing doing;
  auto first = std::make_unique<Doing::InCall>(doing, "MPI_Alltoall");
  auto second = std::make_unique<Doing::InCall>(doing, "MPI_Neighbor_alltoall");
  EXPECT_EQ(Doing::text(doing.now(0, 0)), "it is in MPI_Neighbor_alltoall");
  first.reset();
  second.reset();
  EXPECT_EQ(doing.now(0, 0), 0u);
}

TEST(Doing, WhatIsNotKnownIsNothing) {
  for (const std::uint64_t what : {3ull, 250ull, ~0ull}) {
    EXPECT_THAT(Doing::text(what), HasSubstr("its process answers"));
  }
}

}  // namespace
}  // namespace alm::job

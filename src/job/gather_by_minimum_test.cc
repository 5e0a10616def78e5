#include "job/gather_by_minimum.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "job/fake_mpi_test_ops.h"

namespace alm::job {
namespace {

constexpr std::uint32_t kRanks = 5;
constexpr std::size_t kBytes = 13;  // no whole words

std::byte byte_of(std::size_t rank, std::size_t at) { return std::byte(251 * rank + 255 - at); }

TEST(GatherByMinimum, EveryRankHasTheBytesOfAll) {
  FakeJob job(kRanks);
  run_ranks(job, [](FakeMpiOps& ops, std::uint32_t rank) {
    std::array<std::byte, kBytes> mine;
    for (std::size_t at = 0; at < kBytes; ++at) mine[at] = byte_of(rank, at);
    std::vector<std::byte> all(kRanks * kBytes);
    ASSERT_EQ(gather_by_minimum(ops, FakeJob::kWorld, rank, mine, all), kMpiSuccess);
    for (std::size_t at = 0; at < all.size(); ++at) {
      EXPECT_EQ(all[at], byte_of(at / kBytes, at % kBytes)) << at;
    }
  });
}

TEST(GatherByMinimum, WhatFailsIsTold) {
  FakeJob job(kRanks);
  job.fail({2, "allreduce_min", 1});
  run_ranks(job, [](FakeMpiOps& ops, std::uint32_t rank) {
    std::array<std::byte, kBytes> mine{};
    std::vector<std::byte> all(kRanks * kBytes);
    const int code = gather_by_minimum(ops, FakeJob::kWorld, rank, mine, all);
    EXPECT_EQ(code == kMpiSuccess, rank != 2);
  });
}

}  // namespace
}  // namespace alm::job

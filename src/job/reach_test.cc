#include "job/reach.h"

#include <gmock/gmock.h>

#include <thread>

#include "job/fake_mpi_test_ops.h"
#include "transport/io/endpoint.h"

namespace alm::job {
namespace {

constexpr std::uint32_t kHosts = 5;
// What nobody hears of is waited for so long; hosts that are there answer far sooner.
constexpr base::Nanos kShort = 400 * base::kMillisecond;
constexpr base::Nanos kLong = 60 * base::kSecond;

// Each rank on a host of its own. `addresses` by rank.
std::vector<Reach> reach_of(const std::function<std::vector<std::string>(std::uint32_t)>& addresses,
                            RandomBytes random_bytes = system_random_bytes,
                            base::Nanos patience = kShort) {
  FakeJob job(kHosts);
  std::vector<JobRecord> records(kHosts);
  for (std::uint32_t rank = 0; rank < kHosts; ++rank) {
    set_host(records[rank].host, "h" + std::to_string(rank));
  }
  std::vector<Reach> out(kHosts);
  std::vector<std::thread> ranks;
  for (std::uint32_t rank = 0; rank < kHosts; ++rank) {
    ranks.emplace_back([&, rank] {
      FakeMpiOps ops(job, rank);
      const auto mine = addresses(rank);
      const auto found =
          find_reach(ops, FakeJob::kWorld, records, rank, mine, random_bytes, patience);
      ASSERT_TRUE(found.ok()) << found.error().message;
      out[rank] = found.value();
    });
  }
  for (std::thread& rank : ranks) rank.join();
  return out;
}

std::string own(std::uint32_t rank, int network) {
  return "127.0." + std::to_string(network) + "." + std::to_string(rank + 1);
}

TEST(Reach, TheFirstThatCarriesIsTakenAtOnce) {
  const base::Nanos begin = io::monotonic_now();
  const auto found = reach_of(
      [](std::uint32_t rank) {
        return std::vector{own(rank, 1), own(rank, 2)};
      },
      system_random_bytes, kLong);
  EXPECT_LT(io::monotonic_now() - begin, kLong / 2);
  for (const Reach& one : found) {
    EXPECT_TRUE(one.carries);
    EXPECT_EQ(one.network, 0u);
    EXPECT_TRUE(one.gaps.empty());
  }
}

TEST(Reach, WhatOneHostDoesNotHearIsPassedOver) {
  // Over the first network rank 3 says hello from nowhere: 203.0.113.0/24 is nobody's.
  const auto found = reach_of([](std::uint32_t rank) {
    return std::vector{rank == 3 ? "203.0.113.4" : own(rank, 1), own(rank, 2), own(rank, 3)};
  });
  for (const Reach& one : found) {
    EXPECT_TRUE(one.carries);
    EXPECT_EQ(one.network, 1u);
    ASSERT_EQ(one.gaps.size(), 1u);
    EXPECT_TRUE(one.gaps[0].from == "h3" || one.gaps[0].to == "h3")
        << one.gaps[0].from << one.gaps[0].to;
  }
}

TEST(Reach, WhereNoneCarriesAllRanksKnow) {
  for (const Reach& one : reach_of([](std::uint32_t rank) {
         return rank == 1 ? std::vector<std::string>{"", ""}
                          : std::vector{own(rank, 1), own(rank, 2)};
       })) {
    EXPECT_FALSE(one.carries);
    EXPECT_EQ(one.network, 0u);
  }
}

TEST(Reach, ARankWithoutRandomWordsListensToNobody) {
  const RandomBytes none = [](void*, std::size_t, unsigned) -> ssize_t { return 0; };
  for (const Reach& one : reach_of(
           [](std::uint32_t rank) {
             return std::vector{own(rank, 1), own(rank, 2)};
           },
           none)) {
    EXPECT_FALSE(one.carries);
  }
}

}  // namespace
}  // namespace alm::job

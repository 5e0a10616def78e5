#include "job/agreement.h"

#include <gmock/gmock.h>

namespace alm::job {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::vector<JobRecord> job(std::uint32_t ranks) {
  std::vector<JobRecord> records(ranks);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    records[rank].usable = 1;
    records[rank].configuration = 7;
    set_host(records[rank].host, "h" + std::to_string(rank));
  }
  return records;
}

TEST(Agreement, EqualRanksAccelerate) {
  const auto agreement = agree(job(4));
  EXPECT_TRUE(agreement.accelerate);
  EXPECT_FALSE(agreement.stats);
  EXPECT_EQ(agreement.warning, "");
}

TEST(Agreement, ThreadsAreForAllOrNone) {
  auto records = job(3);
  for (auto& record : records) record.threads = 1;
  EXPECT_TRUE(agree(records).threads);
  records[1].threads = 0;
  EXPECT_FALSE(agree(records).threads);
}

TEST(Agreement, GpuMemoryOnOneRankConcernsAll) {
  auto records = job(3);
  EXPECT_FALSE(agree(records).device_memory);
  records[2].device_memory = 1;
  EXPECT_TRUE(agree(records).device_memory);
}

TEST(Agreement, NamesTheRanksThatDifferFromMost) {
  auto records = job(4);
  records[0].configuration = 8;
  const auto agreement = agree(records);
  EXPECT_FALSE(agreement.accelerate);
  EXPECT_THAT(agreement.warning, HasSubstr("differ on rank 0 (h0)"));
  EXPECT_THAT(agreement.warning, Not(HasSubstr("h1")));
}

TEST(Agreement, OneInvalidRankStopsAll) {
  auto records = job(3);
  records[2].usable = 0;
  const auto agreement = agree(records);
  EXPECT_FALSE(agreement.accelerate);
  EXPECT_THAT(agreement.warning, HasSubstr("not valid on rank 2 (h2)"));
}

TEST(Agreement, AnotherBuildIsNamed) {
  auto records = job(2);
  records[1].layout += 1;
  EXPECT_THAT(agree(records).warning, HasSubstr("another version of allemande"));
}

TEST(Agreement, RanksOfOneHostPassThroughAndSayWhy) {
  auto records = job(3);
  for (auto& record : records) set_host(record.host, "lonely");
  const auto agreement = agree(records);
  EXPECT_FALSE(agreement.accelerate);
  EXPECT_THAT(agreement.warning, HasSubstr("all 3 ranks are on lonely"));
}

TEST(Agreement, ASingleRankHasNothingToSay) {
  EXPECT_FALSE(agree(job(1)).accelerate);
  EXPECT_EQ(agree(job(1)).warning, "");
}

TEST(Agreement, AnyRankMayAskForStats) {
  auto records = job(3);
  records[1].wants_stats = 1;
  EXPECT_TRUE(agree(records).stats);
}

TEST(Agreement, ManyRanksAreCountedNotListed) {
  const auto records = job(20);
  std::vector<std::uint32_t> ranks(20);
  for (std::uint32_t i = 0; i < 20; ++i) ranks[i] = i;
  EXPECT_THAT(name_ranks(ranks, records), HasSubstr("7 (h7) and 12 more"));
}

TEST(Agreement, HashSeesOptionsAndCluster) {
  EXPECT_EQ(configuration_hash("a", "b"), configuration_hash("a", "b"));
  EXPECT_NE(configuration_hash("a", "b"), configuration_hash("a", "c"));
  EXPECT_NE(configuration_hash("a", "b"), configuration_hash("c", "b"));
  EXPECT_NE(configuration_hash("ab", ""), configuration_hash("a", "b"));
}

TEST(Agreement, LongHostNamesAreCut) {
  std::array<char, kHostNameBytes> field{};
  set_host(field, std::string(100, 'x'));
  EXPECT_EQ(host_of(field), std::string(kHostNameBytes - 1, 'x'));
}

}  // namespace
}  // namespace alm::job

#include "job/stats.h"

#include <gmock/gmock.h>

namespace alm::job {
namespace {

using ::testing::HasSubstr;

TEST(Stats, SizesAreAddedByTheirBytes) {
  StatsRecord one, two;
  one.size(100).packets = 5;
  one.size(2000).retransmitted = 1;
  two.size(2000).retransmitted = 2;
  two.size(100).packets = 7;
  two.channel.data_sent = 11;
  two.endpoint.send_calls = 3;
  one.nonblocking = 1;
  two.nonblocking = 4;
  add(one, two);
  EXPECT_EQ(one.size(100).packets, 12u);
  EXPECT_EQ(one.size(2000).retransmitted, 3u);
  EXPECT_EQ(one.channel.data_sent, 11u);
  EXPECT_EQ(one.endpoint.send_calls, 3u);
  EXPECT_EQ(one.nonblocking, 5u);
}

TEST(Stats, MoreSizesThanLinesShareTheLast) {
  StatsRecord stats;
  for (std::uint64_t bytes = 1; bytes <= 2 * kSizesCounted; ++bytes) ++stats.size(bytes).exchanges;
  std::uint64_t total = 0;
  for (const auto& size : stats.sizes) total += size.exchanges;
  EXPECT_EQ(total, 2 * kSizesCounted);
}

TEST(Stats, JsonNamesWhatTheBenchReads) {
  StatsRecord stats;
  stats.channel.data_sent = 42;
  stats.channel.data_retransmitted = 3;
  stats.size(1000).exchanges = 2;
  const std::string text = to_json(stats, 32);
  EXPECT_THAT(text, HasSubstr("\"ranks\": 32"));
  EXPECT_THAT(text, HasSubstr("\"packets\": 42"));
  EXPECT_THAT(text, HasSubstr("\"retransmitted\": 3"));
  EXPECT_THAT(text, HasSubstr("{\"bytes\": 1000, \"exchanges\": 2,"));
}

TEST(Stats, ThePathMayNameTheRank) {
  EXPECT_EQ(path_for_rank("/tmp/s-%r.json", 7), "/tmp/s-7.json");
  EXPECT_EQ(path_for_rank("/tmp/s.json", 7), "/tmp/s.json");
}

TEST(Stats, AnUnwritableFileIsNamed) {
  const auto written = write_file("/nowhere/at/all", "x");
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().message, HasSubstr("/nowhere/at/all"));
}

}  // namespace
}  // namespace alm::job

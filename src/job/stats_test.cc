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

TEST(Stats, CallsAreAddedByFunctionSizeAndWay) {
  tally::Tally tally;
  tally.begin(0);
  const auto way = tally.way("a \"quoted\" way, longer than there is room for in the counters");
  tally.note(tally::Function::kAlltoall, 600, {way, 0}, base::kSecond);
  tally.note(tally::Function::kAlltoallv, 600, {}, base::kSecond);
  StatsRecord one, two;
  add_tally(one, tally);
  add_tally(two, tally);
  add(one, two);
  const std::string text = to_json(one, 2);
  EXPECT_THAT(text, HasSubstr("{\"function\": \"MPI_Alltoall\", \"bytes_least\": 512, "
                              "\"bytes_most\": 1023, \"way\": \"a \\\"quoted\\\" way, longer"));
  EXPECT_THAT(text, HasSubstr("\"calls\": 2, \"seconds\": 2.000000000}"));
  EXPECT_THAT(text, HasSubstr("\"function\": \"MPI_Alltoallv\""));
}

TEST(Stats, MoreCallsThanLinesShareTheLast) {
  StatsRecord stats;
  for (int i = 0; i < 2 * static_cast<int>(kCallLines); ++i) {
    StatsRecord::Calls calls;
    calls.width = static_cast<std::uint8_t>(i);
    calls.calls = 1;
    stats.add_calls(calls);
  }
  std::uint64_t total = 0;
  for (const auto& line : stats.calls) total += line.calls;
  EXPECT_EQ(total, 2 * kCallLines);
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

#include "scenario/simulate.h"

#include <gmock/gmock.h>

#include <numeric>

#include "scenario/test_cluster.h"

namespace alm::scenario {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

Options of_size(std::uint64_t size) {
  Options out;
  out.size = size;
  return out;
}

TEST(Simulate, TheOutcomeCountsPacketsTimeAndRanks) {
  Options options = of_size(10'000);
  options.exchanges = 2;
  const auto outcome = simulate(make_cluster(4), options);
  ASSERT_TRUE(outcome) << outcome.error().message;
  const Outcome& out = outcome.value();
  EXPECT_EQ(out.algorithm, "sync-shuffle");
  EXPECT_EQ(out.total.counters.data_sent, 2 * 8 * 7 * 7);
  EXPECT_EQ(out.total.dropped, 0);
  EXPECT_THAT(out.rank_time_s, SizeIs(8));
  EXPECT_THAT(out.port_names, SizeIs(out.total.ports.size()));
  EXPECT_GT(out.fraction_of_limit, 0.85);
  EXPECT_LT(out.fraction_of_limit, 1);
  EXPECT_DOUBLE_EQ(out.time_s, (out.exchange_s[0] + out.exchange_s[1]) / 2);
  EXPECT_FALSE(out.combines);
  EXPECT_FALSE(out.shares);
  EXPECT_TRUE(out.trace.empty());
}

TEST(Simulate, PlansThatCombineSendFewerPackets) {
  Options options = of_size(100);
  options.algorithm = plan::parse_named("grid:4x2").value();
  const Outcome out = simulate(make_cluster(4), options).value();
  EXPECT_EQ(out.algorithm, "grid:4x2");
  EXPECT_TRUE(out.combines);
  EXPECT_EQ(out.total.counters.data_sent, 8 * 4);
}

TEST(Simulate, AlgorithmsOfLibrariesGoOverTcp) {
  Options options = of_size(10'000);
  options.algorithm = parse_algorithm("openmpi:pairwise").value();
  options.transport = "tcp:newreno";
  options.exchanges = 3;
  const Outcome out = simulate(make_cluster(4), options).value();
  EXPECT_EQ(out.algorithm, "openmpi:pairwise");
  EXPECT_EQ(out.total.counters.data_sent, 3 * 8 * 7 * 7);
  EXPECT_THAT(out.total.tcp.exchange_waits, SizeIs(3));
  EXPECT_GT(out.fraction_of_limit, 0.1);
  options.transport = "udp";
  EXPECT_THAT(simulate(make_cluster(4), options).error().message,
              HasSubstr("expected transport tcp"));
  Options ours = of_size(10'000);
  ours.transport = "tcp";
  EXPECT_THAT(simulate(make_cluster(4), ours).error().message,
              HasSubstr("carries algorithms of MPI libraries"));
}

TEST(Simulate, RanksOfAHostShareMessages) {
  Options options = of_size(100);
  options.ranks_per_host = 4;
  const Outcome out = simulate(make_cluster(2), options).value();
  EXPECT_EQ(out.ranks, 16);
  EXPECT_EQ(out.total.counters.data_sent, 4 * 3 * 2);  // 16 blocks of 100 bytes: two packets
}

TEST(Simulate, AMatrixSaysHowMuchEachSends) {
  Options options;
  options.matrix = Rows(8, std::vector<std::uint64_t>(8, 0));
  (*options.matrix)[2][5] = 3 * 1448;
  const Outcome out = simulate(make_cluster(4), options).value();
  EXPECT_EQ(out.total.counters.data_sent, 3);
}

TEST(Simulate, JobsAndFlowsHaveShares) {
  Options options = of_size(20'000);
  options.jobs = 2;
  options.background.push_back({"h0", "h7", 10});
  const Outcome out = simulate(make_cluster(4), options).value();
  ASSERT_TRUE(out.shares);
  EXPECT_THAT(out.shares->jobs, SizeIs(2));
  EXPECT_THAT(out.shares->background, SizeIs(1));
  EXPECT_EQ(out.shares->background[0].from, "h0");
  EXPECT_DOUBLE_EQ(out.time_s, (out.shares->jobs[0].time_s + out.shares->jobs[1].time_s) / 2);
  EXPECT_GT(out.shares->fair_share_s, 2 * out.limit_s);
}

TEST(Simulate, ATraceHasARecordOfEveryHop) {
  Options options = of_size(3000);
  options.trace = true;
  const Outcome out = simulate(make_cluster(2), options).value();
  EXPECT_EQ(out.trace.size(), out.total.packet_hops);
  options.size = kSizeMax;
  const auto large = simulate(make_cluster(2), options);
  ASSERT_FALSE(large);
  EXPECT_THAT(large.error().message, HasSubstr("a trace of this exchange takes about"));
}

TEST(Simulate, ProgressMayStopIt) {
  const auto stopped = simulate(make_cluster(8), of_size(1'000'000), [](double) { return false; });
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, base::ErrorCode::kUnsupported);
}

TEST(Simulate, PathsNeedRoutesThatDiffer) {
  Options options = of_size(1000);
  options.paths = 2;
  EXPECT_THAT(simulate(make_cluster(2), options).error().message,
              HasSubstr("routing `d-mod-k` has one way for each destination"));
  options.routing = routing::Rule::kSource;
  EXPECT_THAT(simulate(make_cluster(2), options).error().message,
              HasSubstr("hosts are at most 1 routes apart"));
}

TEST(Simulate, MessagesNeedSwitchesThatWait) {
  Options options = of_size(10'000);
  options.transport = "messages";
  EXPECT_FALSE(simulate(make_cluster(2), options));
  const auto outcome = simulate(make_cluster(2, true), options);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_GT(outcome.value().time_s, 0);
}

}  // namespace
}  // namespace alm::scenario

// Jobs whose hosts are at two sites by the cluster file: `auto` takes ways that know them.
#include <gmock/gmock.h>

#include <fstream>
#include <string>

#include "session/decision_file.h"
#include "session/session_test_ranks.h"

namespace alm::session {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

// h0 and h1 at one, h2 at the other.
class SessionSites : public SessionTest {
 protected:
  void SetUp() override {
    SessionTest::SetUp();
    std::ofstream(path("cluster.toml")) << R"(
      format = 1
      name = "two-sites"
      [[switch]]
      name = "a"
      site = "rennes"
      [[switch]]
      name = "b"
      site = "nancy"
      [[host]]
      name = "h[0-2]"
      address = "127.0.0.[1-3]"
      [[link]]
      from = "h[0-1]"
      to = "a"
      rate_mbit_s = 1000
      queue_down_packets = 100
      [[link]]
      from = "h2"
      to = "b"
      rate_mbit_s = 1000
      queue_down_packets = 100
      [[link]]
      from = "a"
      to = "b"
      rate_mbit_s = 100
      latency_us = 2000
      queue_up_packets = 100
      queue_down_packets = 100
    )";
    options = {"trials=on", "log=info", "peer_timeout_s=20"};
  }
};

TEST_F(SessionSites, AutoBeginsWithWhatTheNetworkLetsExpectLeast) {
  job::FakeJob job(kRanks);
  const auto ends = run(job, [](FakeProcess& process) {
    process.alltoall(kWorld, 8);
    process.alltoall(kWorld, 20'000);
  });
  for (const End& end : ends) EXPECT_TRUE(end.good);
  EXPECT_THAT(ends[0].logged, Contains(testing::AllOf(HasSubstr("16384 to 32767 bytes"),
                                                      HasSubstr("begins with multi-site"),
                                                      HasSubstr("(predicted: "))));
}

TEST_F(SessionSites, DecisionsNameThoseWays) {
  const std::string decisions = path("decisions.toml");
  options.push_back("decisions=" + decisions);
  job::FakeJob job(kRanks);
  const auto ends = run(job, [](FakeProcess& process) {
    for (int call = 0; call < 60; ++call) process.alltoall(kWorld, 20'000);
  });
  for (const End& end : ends) EXPECT_TRUE(end.good);
  const auto found = read_decisions(decisions);
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_FALSE(found.value().empty());
  const auto& ways = found.value().front().ways;
  EXPECT_EQ(ways.front().key.substr(0, 14), "udp multi-site");
  EXPECT_GT(ways.front().predicted, 2 * base::kMillisecond);
}

// The cluster file has none.
class SessionSitesByOption : public SessionTest {};

TEST_F(SessionSitesByOption, AutoTakesThemToo) {
  options = {"trials=off", "log=info", "peer_timeout_s=20", "sites=1,2"};
  job::FakeJob job(kRanks);
  const auto ends = run(job, [](FakeProcess& process) { process.alltoall(kWorld, 20'000); });
  for (const End& end : ends) EXPECT_TRUE(end.good);
}

TEST_F(SessionSitesByOption, RanksOfOneSiteHaveNoUseForThem) {
  options = {"trials=on", "log=info", "peer_timeout_s=20", "sites=3"};
  job::FakeJob job(kRanks);
  const auto ends = run(job, [](FakeProcess& process) { process.alltoall(kWorld, 20'000); });
  for (const End& end : ends) EXPECT_TRUE(end.good && end.accelerating);
  EXPECT_THAT(ends[0].logged, testing::Not(Contains(HasSubstr("multi-site"))));
}

TEST_F(SessionSitesByOption, WhatDoesNotFitTheJobIsSaid) {
  options = {"trials=off", "peer_timeout_s=20", "sites=1,4"};
  job::FakeJob job(kRanks);
  const auto ends = run(job, [](FakeProcess& process) { process.alltoall(kWorld, 20'000); });
  for (const End& end : ends) EXPECT_TRUE(end.good && end.accelerating);
  EXPECT_THAT(ends[0].logged,
              Contains(HasSubstr("ALLEMANDE_SITES=1,4 does not add up to the 3 ranks of this "
                                 "communicator; sites are not looked at")));
}

TEST_F(SessionSitesByOption, WhatIsNoListIsRefusedBeforeTheFirstCall) {
  options = {"peer_timeout_s=20", "sites=a=h0/b=h[0-2]"};
  job::FakeJob job(kRanks);
  const auto ends = run(job, [](FakeProcess& process) { process.alltoall(kWorld, 20'000); });
  for (const End& end : ends) EXPECT_TRUE(end.good && !end.accelerating);
  EXPECT_THAT(ends[0].logged, Contains(HasSubstr("host h0 is named at `a` and at `b`")));
}

}  // namespace
}  // namespace alm::session
